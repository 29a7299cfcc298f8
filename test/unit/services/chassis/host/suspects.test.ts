import { describe, expect, test } from 'vitest';
import { Evidence, type Named, type Trace } from '../../../../../services/chassis/host/suspects.ts';

const one: Named = { session: 'ses_a', service: 'planner', record: 'inp_1' };
const other: Named = { ...one, session: 'ses_b' };

const trace = (incarnation: string, more: Partial<Trace>): Trace => ({
  ...{ incarnation, is: 'dead', deciding: [], suspects: [] },
  ...more,
});

const deathsOf = (...traces: Trace[]) => new Evidence(traces).deathsOf(one);

describe('a decision that a dead host had named', () => {
  test('alone has a death, with others it is only suspected', () => {
    expect(deathsOf(trace('a', { deciding: [one] }))).toEqual(['a']);
    expect(deathsOf(trace('a', { deciding: [one, other] }))).toEqual([]);
    expect(deathsOf(trace('a', { deciding: [other] }))).toBeUndefined();
  });

  test('has the deaths that others handed on, each once', () => {
    const handedOn = trace('b', { is: 'alive', suspects: [{ ...one, died: ['a'] }] });
    expect(deathsOf(trace('a', { deciding: [one] }), handedOn)).toEqual(['a']);
    expect(deathsOf(trace('c', { deciding: [one] }), handedOn)).toEqual(['a', 'c']);
  });

  test('from another record is another decision', () => {
    expect(deathsOf(trace('a', { deciding: [{ ...one, record: 'inp_2' }] }))).toBeUndefined();
  });

  test('by a host that lives, or ended in good order, is nothing', () => {
    for (const is of ['alive', 'ended'] as const)
      expect(new Evidence([trace('a', { is, deciding: [one] })]).isEmpty).toBe(true);
  });

  test('by one that may be dead or not is left until that is known', () => {
    const evidence = new Evidence([trace('a', { is: 'doubtful', deciding: [one] })]);
    expect([evidence.isDoubtful(one), evidence.isDoubtful(other)]).toEqual([true, false]);
    expect(evidence.deathsOf(one)).toBeUndefined();
  });
});
