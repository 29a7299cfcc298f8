import { describe, expect, test } from 'vitest';
import { type Draft, event, text } from '../../../../../schemas/event.ts';
import { limits } from '../../../../../schemas/limits.ts';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import {
  causeAddresses,
  decideEntry,
  type FactsInput,
  noFacts,
} from '../../../../../services/chassis/protocol/decision.ts';
import { headersOf } from '../../../../../services/chassis/protocol/record.ts';
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
import { buildTurn } from '../../../../../services/chassis/protocol/turn.ts';
import {
  cancel,
  claimed,
  idleLogic,
  input,
  opening,
  placed,
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

describe('what passes the check of its size', () => {
  const codec = createFixedCodec();
  const many = Array.from({ length: 1_200 }, (_, index) => input(index + 1, cancel()));
  const quiet = deciding(() => []);
  const asked = many.reduce(
    (before, record) => foldOne(before, record, quiet),
    entryOf(quiet, opening()),
  );

  /** The bytes that the broker would see, headers and value. */
  function recordBytes(logic: AnyLogic, entry: ServiceEntry, given: FactsInput) {
    const drafts = decideEntry(logic, entry, given);
    const author = { epoch: 1, incarnation: 'a'.repeat(32), release: '0.0.0-test' };
    const { id, body } = buildTurn(logic, entry, { drafts, facts: given, author, foreseen: [] });
    const place = { batch: id, batchIndex: 0, traceparent: 'x'.repeat(55) };
    const headers = JSON.stringify(headersOf(id, body, place)).length;
    const value = codec.encode('turn', body).length;
    return { count: drafts.length, failed: drafts[0]?.type === 'decision.failed', headers, value };
  }

  test.each([1, 40, 120])('fits into a record, whatever takes the room (%d)', (length) => {
    const because = 'é'.repeat(length);
    const service = { prices: 'p'.repeat(200_000) };
    const made = [120, 450, 1_350, 4_050].map((count) => {
      const logic = deciding(() =>
        Array.from({ length: count }, (_, index) =>
          event('task.skipped', { task: `${'t'.repeat(length)}-${index}`, because }),
        ),
      );
      return recordBytes(logic, asked, { ...facts, service });
    });
    for (const { value, headers } of made) {
      expect(value).toBeLessThanOrEqual(limits.turnBytesMax);
      expect(value + headers).toBeLessThanOrEqual(limits.recordBytesMax);
    }
    // And the check is no more careful than it must be.
    const sent = made.filter(({ failed }) => !failed).map(({ value }) => value);
    expect(Math.max(0, ...sent)).toBeGreaterThan(limits.turnBytesMax / 4);
  });

  test('names at most so many causes, and answers all', () => {
    const seen: number[] = [];
    const logic = deciding((given) => {
      seen.push(given.causes.length);
      return [skipped('a')];
    });
    const drafts = decideEntry(logic, asked, facts);
    const author = { epoch: 1, incarnation: 'a', release: '' };
    const made = buildTurn(logic, asked, { drafts, facts, author, foreseen: [] });
    expect([seen, made.body.causes.length]).toEqual([[1_000], 1_000]);
    const record = placed(2_000, made.id, made.body);
    expect(foldEntry(logic, asked, { record }).causes).toEqual([]);
  });
});

test('a turn that no broker took for its size is a decision that failed', () => {
  const logic = deciding(() => [skipped('a')]);
  const entry = entryOf(logic, opening());
  const turnRefused = { code: 'TURN_REFUSED', message: 'more than 1 byte' };
  const [only, ...rest] = decideEntry(logic, entry, { ...facts, turnRefused });
  expect(rest).toEqual([]);
  expect(only).toMatchObject({ type: 'decision.failed', data: { code: 'TURN_REFUSED' } });
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

  test('stand aside for refusals: what will never arrive is closed with its reason', () => {
    const refused = { 'trn_1#0': { code: 'DELIVERY_TOO_LARGE', message: 'more than 1 byte' } };
    const [first, ...more] = decideEntry(logic, entry, { ...facts, refused });
    const data = { record: 'trn_1', index: 0, code: 'DELIVERY_TOO_LARGE' };
    expect(first).toEqual(event('delivery.refused', data, { message: text('more than 1 byte') }));
    expect(more).toEqual([skipped('more')]);
    const after = foldEntry(logic, entry, { record: turn(2, [first ?? skipped('x')]) });
    expect(after.outbox).toEqual({});
    expect(decideEntry(logic, after, { ...facts, refused })).toEqual([skipped('more')]);
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
