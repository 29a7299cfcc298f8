import { describe, expect, test } from 'vitest';
import { type Draft, event } from '../../../../../schemas/event.ts';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import {
  causeAddresses,
  decideEntry,
  noFacts,
} from '../../../../../services/chassis/protocol/decision.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import type {
  AnyLogic,
  DecideInput,
  Delivery,
} from '../../../../../services/chassis/protocol/service-logic.ts';
import {
  cancel,
  claimed,
  idleLogic,
  input,
  opening,
  session,
  skipped,
  turn,
} from '../../../../support/placed-record.ts';

const facts = noFacts(1_000);

function entryOf(logic: AnyLogic, ...records: readonly Parameters<typeof foldOne>[1][]) {
  return records.reduce((entry, record) => foldOne(entry, record, logic), newEntry(logic, session));
}

const foldOne = (
  entry: ServiceEntry,
  record: ReturnType<typeof opening>,
  logic: AnyLogic,
): ServiceEntry => foldEntry(logic, entry, { record });

const deciding = (decide: (input: DecideInput) => readonly Draft[]): AnyLogic =>
  idleLogic<null>({
    initial: () => null,
    answers: (seen) => seen.type === 'session.cancel-requested',
    decide: (_state, given) => decide(given),
  });

test('a decision sees its session, its facts, its causes and the open calls, and no more', () => {
  const given: DecideInput[] = [];
  const logic = deciding((one) => {
    given.push(one);
    return [];
  });
  const entry = entryOf(logic, opening(), turn(1, [claimed('c')]), input(2, cancel()));
  decideEntry(logic, entry, {
    ...facts,
    lost: { c: 'deadline' },
    service: { price: 3 },
    attachments: { list: [1] },
  });
  expect(causeAddresses(entry)).toEqual(['inp_2#0']);
  expect(given).toEqual([
    {
      session: entry.core.meta,
      nowMs: 1_000,
      facts: { price: 3 },
      attachments: { list: [1] },
      causes: [entry.causes[0]?.event],
      openCalls: entry.core.calls,
      lost: { c: 'deadline' },
    },
  ]);
});

describe('a decision that throws', () => {
  test('is a fact of its own, with the code of the error where it has one', () => {
    const throwing = (thrown: unknown): readonly Draft[] => {
      const logic = deciding(() => {
        throw thrown;
      });
      return decideEntry(logic, entryOf(logic, opening()), facts);
    };
    expect(throwing(new LongreinError('STEP_LIMIT', 'too many steps'))).toMatchObject([
      {
        type: 'decision.failed',
        data: { service: 'supervisor', code: 'STEP_LIMIT' },
        content: { message: { body: 'too many steps' } },
      },
    ]);
    expect(throwing(new TypeError('x is not a function'))[0]?.data).toMatchObject({
      code: 'DECISION_THREW',
    });
    expect(throwing('just text')[0]?.content).toMatchObject({ message: { body: 'just text' } });
  });

  test('is said once: the service decides no more in this session', () => {
    const logic = deciding(() => {
      throw new Error('always');
    });
    const entry = entryOf(logic, opening());
    const drafts = decideEntry(logic, entry, facts);
    const after = foldEntry(logic, entry, { record: turn(1, drafts) });
    expect(decideEntry(logic, after, facts)).toEqual([]);
  });

  test('silences its own service alone', () => {
    const logic = deciding(() => [skipped('a')]);
    const failed = decideEntry(
      deciding(() => {
        throw new Error('planner');
      }),
      entryOf(logic, opening()),
      facts,
    ).map((draft) => ({ ...draft, data: { ...draft.data, service: 'planner' } }) as Draft);
    const entry = entryOf(logic, opening(), turn(1, failed));
    expect(decideEntry(logic, entry, facts)).toEqual([skipped('a')]);
  });
});

describe('an event that its schema refuses', () => {
  const invalid = (draft: unknown): Draft[] => {
    const logic = deciding(() => [skipped('a'), draft as Draft]);
    return [...decideEntry(logic, entryOf(logic, opening()), facts)];
  };

  test('makes the whole decision fail and says what is wrong', () => {
    const drafts = invalid({ type: 'task.skipped', data: { task: 'a', because: 7 } });
    expect(drafts).toHaveLength(1);
    expect(drafts[0]).toMatchObject({ type: 'decision.failed', data: { code: 'EVENT_INVALID' } });
    expect(JSON.stringify(drafts[0]?.content)).toContain('/data/because must be string');
  });

  test('is also one that nobody knows, or that has contents which are not its own', () => {
    expect(invalid({ type: 'task.vanished', data: {} })[0]?.data).toMatchObject({
      code: 'EVENT_INVALID',
    });
    const content = { note: { mediaType: 'text/plain', body: 'x' } };
    expect(invalid({ ...skipped('a'), content })[0]?.type).toBe('decision.failed');
  });
});

describe('a turn that no record can hold', () => {
  const decided = (count: number, task: string): Draft[] => {
    const logic = deciding(() =>
      Array.from({ length: count }, (_, index) => skipped(`${task}${index}`)),
    );
    return [...decideEntry(logic, entryOf(logic, opening()), facts)];
  };

  test('fails before it is sent, for too many events or too many bytes', () => {
    expect(decided(4_096, 't')).toHaveLength(4_096);
    expect(decided(4_097, 't')[0]?.data).toMatchObject({ code: 'TURN_TOO_LARGE' });
    expect(decided(4_000, 't'.repeat(120))).toHaveLength(4_000);
    const because = 'x'.repeat(128);
    const logic = deciding(() =>
      Array.from({ length: 4_000 }, (_, index) =>
        event('task.skipped', { task: `${'t'.repeat(120)}${index}`, because }),
      ),
    );
    const [only, ...rest] = decideEntry(logic, entryOf(logic, opening()), facts);
    expect([only?.type, rest]).toEqual(['decision.failed', []]);
    expect(only?.content).toMatchObject({
      message: { body: expect.stringMatching(/^4000 events of \d+ bytes/) },
    });
  });
});

describe('acknowledgements', () => {
  const deliveries = (): Delivery[] => [
    {
      to: 'log',
      topic: 'keys',
      session: 'key_1',
      identity: ['x'],
      event: event('key.released', { goalLog: 'goal_x' }),
    },
    { to: 'public', topic: 'results', key: 'k', type: 't', id: 'i', value: {} },
  ];
  const logic = idleLogic<number>({
    initial: () => 0,
    evolve: (state, seen) => (seen.type === 'task.skipped' ? state + 1 : state),
    decide: (state) => (state < 2 ? [skipped('more')] : []),
    deliveries: (seen) => (seen.type === 'task.skipped' ? deliveries() : []),
  });
  const entry = entryOf(logic, opening(), turn(1, [skipped('a')]));
  const acknowledged = event('delivery.acknowledged', {
    record: 'trn_1',
    index: 0,
    destinations: ['keys/key_1', 'results'],
  });

  test('stand before what the service decides, and name where it went', () => {
    const drafts = decideEntry(logic, entry, { ...facts, delivered: ['trn_1#0'] });
    expect(drafts).toEqual([acknowledged, skipped('more')]);
  });

  test('are not made for what is not open', () => {
    const drafts = decideEntry(logic, entry, { ...facts, delivered: ['trn_9#0'] });
    expect(drafts).toEqual([skipped('more')]);
    const after = foldEntry(logic, entry, { record: turn(2, [acknowledged, skipped('more')]) });
    expect(decideEntry(logic, after, { ...facts, delivered: ['trn_1#0'] })).toEqual([]);
  });

  test('are made for a service that failed too: its session can still close', () => {
    const failed = event(
      'decision.failed',
      { service: 'supervisor', code: 'X' },
      { message: { mediaType: 'text/plain', body: 'x' } },
    );
    const after = foldEntry(logic, entry, { record: turn(2, [failed]) });
    expect(decideEntry(logic, after, { ...facts, delivered: ['trn_1#0'] })).toEqual([acknowledged]);
  });
});

test('nothing is decided before the opening, before an early cancel meets it, or after the close', () => {
  const logic = deciding(() => [skipped('a')]);
  expect(decideEntry(logic, newEntry(logic, session), facts)).toEqual([]);
  expect(decideEntry(logic, entryOf(logic, input(0, cancel())), facts)).toEqual([]);
  const closed = entryOf(logic, opening(), turn(1, [event('session.closed', {})]));
  expect(decideEntry(logic, closed, facts)).toEqual([]);
});
