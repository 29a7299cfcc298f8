import { expect, test } from 'vitest';
import { event, type SeenEvent, text, textOf } from '../../../../schemas/event.ts';
import { limits } from '../../../../schemas/limits.ts';
import { aggregatorLogic } from '../../../../services/aggregator/decide.ts';
import { problemOfDraft } from '../../../../services/chassis/protocol/validate.ts';
import { supervisorLogic } from '../../../../services/supervisor/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { aPlan, aTask, opened, planTurn, taskCompleted } from '../../../support/plan-fixtures.ts';

/** A session of one task with both services, run until the result is published. */
function ended(output: string): BenchSession {
  const logics = [{ logic: supervisorLogic }, { logic: aggregatorLogic }];
  const bench = new BenchSession(logics);
  bench.input(opened({}, { inputs: { top: 3 } }));
  bench.append(planTurn(aPlan([aTask('a')])), 'planner');
  bench.append(bench.propose('supervisor'), 'supervisor');
  bench.append([taskCompleted('a', output)], 'worker-pool');
  bench.append(bench.propose('aggregator'), 'aggregator');
  bench.append(bench.propose('supervisor'), 'supervisor');
  return bench;
}

function last<T extends SeenEvent['type']>(bench: BenchSession, type: T): SeenEvent<T> {
  const found = bench.events.findLast((one) => one.type === type);
  if (found === undefined) throw new Error(`there is no ${type}`);
  return found as SeenEvent<T>;
}

function refuse(bench: BenchSession, { record, index }: SeenEvent): void {
  const data = { record, index, code: 'DELIVERY_TOO_LARGE' };
  const message = text('more than 10 bytes');
  bench.append([event('delivery.refused', data, { message })], 'aggregator');
}

test('an output that no result can hold fails the session with a reason that fits', () => {
  const bench = ended('x'.repeat(limits.resultBytesMax));
  const failed = last(bench, 'session.failed');
  expect(failed.data.code).toBe('OUTPUT_TOO_LARGE');
  expect(textOf(failed.content.message)).toMatch(/^The output has \d+ bytes/);
  const result = last(bench, 'result.published');
  expect(result.data).toMatchObject({ status: 'failed', code: 'OUTPUT_TOO_LARGE' });
  const [message] = aggregatorLogic.deliveries?.(result, bench.meta) ?? [];
  expect(JSON.stringify(message).length).toBeLessThan(2_000);
});

test('a reason of any length fits into a result', () => {
  const bench = new BenchSession([{ logic: aggregatorLogic }]);
  bench.input(opened({}, { inputs: { top: 3 } }));
  const message = text('y'.repeat(2_000_000));
  bench.append([event('session.failed', { code: 'X' }, { message })], 'supervisor');
  bench.append(bench.propose('aggregator'), 'aggregator');
  const result = last(bench, 'result.published');
  const [delivery] = aggregatorLogic.deliveries?.(result, bench.meta) ?? [];
  expect(JSON.stringify(delivery).length).toBeLessThan(20_000);
});

test('a result that the broker refuses is replaced by a failure that says why, and the session closes', () => {
  const bench = ended('small, and yet too large');
  const result = last(bench, 'result.published');
  refuse(bench, result);
  expect(bench.propose('supervisor')).toEqual([]);
  const drafts = bench.propose('aggregator');
  expect(drafts.map(problemOfDraft)).toEqual([undefined]);
  bench.append(drafts, 'aggregator');
  expect(bench.propose('aggregator')).toEqual([]);
  const replaced = last(bench, 'result.replaced');
  expect(replaced.data).toMatchObject({ status: 'failed', code: 'RESULT_REFUSED' });
  const [first] = aggregatorLogic.deliveries?.(result, bench.meta) ?? [];
  const [second] = aggregatorLogic.deliveries?.(replaced, bench.meta) ?? [];
  expect(second).toMatchObject({
    id: first?.to === 'public' ? first.id : '',
    value: {
      status: 'failed',
      error: { code: 'RESULT_REFUSED', message: expect.stringContaining('more than 10 bytes') },
    },
  });
  expect(bench.propose('supervisor')).toEqual([]);
  const { record, index } = replaced;
  const destinations = ['longrein.results'];
  bench.append([event('delivery.acknowledged', { record, index, destinations })], 'aggregator');
  expect(bench.propose('supervisor').map(({ type }) => type)).toEqual(['session.closed']);
});

test('where even that is refused the session closes all the same: its log says what happened', () => {
  const bench = ended('small, and yet too large');
  refuse(bench, last(bench, 'result.published'));
  bench.append(bench.propose('aggregator'), 'aggregator');
  refuse(bench, last(bench, 'result.replaced'));
  expect(bench.propose('aggregator')).toEqual([]);
  expect(bench.propose('supervisor').map(({ type }) => type)).toEqual(['session.closed']);
});

test('an output at the limit is a result', () => {
  const output = 'x'.repeat(limits.resultBytesMax - '{"a":""}'.length);
  expect(last(ended(output), 'session.completed').content.output.body).toEqual({ a: output });
});
