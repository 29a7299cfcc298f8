import { describe, expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../../schemas/event.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import { canonical } from '../../../../../services/chassis/protocol/hash.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import {
  foldEntry,
  newEntry,
  restoreEntry,
  type ServiceEntry,
  saveEntry,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import type { Delivery } from '../../../../../services/chassis/protocol/service-logic.ts';
import { foldCore } from '../../../../../services/chassis/protocol/session-core.ts';
import {
  cancel,
  idleLogic,
  input,
  opening,
  session,
  skipped,
  turn,
} from '../../../../support/placed-record.ts';

/** Takes a task once; skips that name one again are refused. A skip is told to another log. */
const logic = idleLogic<readonly string[]>({
  initial: () => [],
  evolve: (state, seen) =>
    seen.type === 'task.skipped' && !state.includes(seen.data.task)
      ? [...state, seen.data.task]
      : state,
  answers: (seen) => seen.type === 'session.cancel-requested' || seen.type === 'task.skipped',
  deliveries: (seen): Delivery[] => (seen.type === 'task.skipped' ? [relay] : []),
});

const relay: Delivery = {
  to: 'log',
  topic: 'other',
  session: 'ses_two',
  identity: ['x'],
  event: event('key.released', { goalLog: 'goal_x' }),
};

function fold(records: readonly PlacedRecord[], start = newEntry(logic, session)): ServiceEntry {
  return records.reduce((entry, record) => foldEntry(logic, entry, { record }), start);
}

const acknowledged = (record: string, index = 0) =>
  event('delivery.acknowledged', { record, index, destinations: ['other/ses_two'] });
const causesOf = ({ causes }: ServiceEntry): string[] => causes.map((one) => one.event.record);

describe('causes', () => {
  test('are events of others that the service answers, with the offset of their record', () => {
    const entry = fold([
      opening(),
      input(1, cancel()),
      turn(2, [skipped('a')], { service: 'planner' }),
      turn(3, [skipped('b')]),
    ]);
    expect(entry.causes.map(({ event: seen, offset }) => [seen.record, offset])).toEqual([
      ['inp_1', 1],
      ['trn_2', 2],
    ]);
  });

  test('up to the base of an own turn are answered, listed or with nothing', () => {
    const before = [opening(), input(1, cancel()), input(2, cancel()), input(3, cancel())];
    const own = turn(4, [skipped('a')], { baseOffset: 2, causes: [] });
    expect(causesOf(fold([...before, own]))).toEqual(['inp_3']);
  });

  test('behind the base are answered where the turn lists them', () => {
    const causes = [{ record: 'inp_2', index: 0 }];
    const own = turn(3, [skipped('a')], { baseOffset: 0, causes });
    const entry = fold([opening(), input(1, cancel()), input(2, cancel()), own]);
    expect(causesOf(entry)).toEqual(['inp_1']);
  });

  test('that the turn foresaw are answered', () => {
    const other = turn(1, [skipped('a')], { service: 'planner' });
    const own = turn(2, [skipped('b')], { baseOffset: 0, foreseen: ['trn_1'] });
    expect(causesOf(fold([opening(), other, own]))).toEqual([]);
  });

  test('are not answered by the turn of another service, nor by one that was ignored', () => {
    const other = turn(2, [skipped('a')], { service: 'planner', baseOffset: 1 });
    expect(causesOf(fold([opening(), input(1, cancel()), other]))).toEqual(['inp_1', 'trn_2']);
    const void_ = turn(2, [skipped('b')], { baseOffset: 1, foreseen: ['trn_void'] });
    expect(causesOf(fold([opening(), input(1, cancel()), void_]))).toEqual(['inp_1']);
  });

  test('of a record that is ignored are none', () => {
    expect(
      causesOf(fold([opening(), input(1, cancel()), input(2, cancel(), { id: 'inp_1' })])),
    ).toEqual(['inp_1']);
  });
});

describe('the outbox', () => {
  test('holds own events whose deliveries are open, until they are acknowledged', () => {
    const entry = fold([opening(), turn(1, [skipped('a'), skipped('b')])]);
    expect(Object.keys(entry.outbox)).toEqual(['trn_1#0', 'trn_1#1']);
    const after = fold([turn(2, [acknowledged('trn_1')])], entry);
    expect(Object.keys(after.outbox)).toEqual(['trn_1#1']);
  });

  test('does not take an own event that the fold refused: it leads to nothing', () => {
    const entry = fold([opening(), turn(1, [skipped('a')]), turn(2, [skipped('a')])]);
    expect(Object.keys(entry.outbox)).toEqual(['trn_1#0']);
  });

  test('takes no event of another service, and only its own acknowledgements', () => {
    const other = turn(1, [skipped('a')], { service: 'planner' });
    expect(fold([opening(), other]).outbox).toEqual({});
    const entry = fold([opening(), turn(1, [skipped('a')])]);
    const foreign = turn(2, [acknowledged('trn_1')], { service: 'planner' });
    expect(Object.keys(fold([foreign], entry).outbox)).toEqual(['trn_1#0']);
  });
});

test('a checkpoint keeps the order of open deliveries, and not that of their addresses', () => {
  const tasks = ['z', 'm', 'a'];
  const turns = tasks.map((task, index) => ({
    ...turn(index + 1, [skipped(task)]),
    header: { ...turn(index + 1, [skipped(task)]).header, id: `trn_${9 - index}` },
  }));
  const entry = fold([opening(), ...turns]);
  const addresses = ['trn_9#0', 'trn_8#0', 'trn_7#0'];
  expect(Object.keys(entry.outbox)).toEqual(addresses);
  const saved = JSON.parse(canonical(saveEntry(entry))) as JsonValue;
  expect(Object.keys(restoreEntry(saved, 'ckp_1').outbox)).toEqual(addresses);
  expect(restoreEntry(saved, 'ckp_1')).not.toHaveProperty('outboxOrder');
});

test('the core may be folded once for all services: the entry is the same', () => {
  const before = fold([opening()]);
  const record = turn(1, [skipped('a')]);
  const step = foldCore(before.core, record);
  const shared = foldEntry(logic, before, { record, step });
  expect(shared).toEqual(foldEntry(logic, before, { record }));
  expect(shared.core).toBe(step.core);
});

test('a record that changes nothing leaves the very same entry', () => {
  const entry = fold([opening()]);
  expect(foldEntry(logic, entry, { record: opening(7) })).toBe(entry);
});

test('a cancel before the opening moves the core alone; both come with the opening', () => {
  const early = fold([input(0, cancel())]);
  expect([early.core.status, early.causes]).toEqual(['cancelled-early', []]);
  const opened = fold([opening(1)], early);
  expect(causesOf(opened)).toEqual(['inp_0']);
  const answered = fold([turn(2, [skipped('a')], { baseOffset: 1 })], opened);
  expect(answered.causes).toEqual([]);
});

test('an entry goes on from what a checkpoint saved as if it had never stopped', () => {
  const entry = fold([opening(), turn(1, [skipped('a')])]);
  const restored = restoreEntry(JSON.parse(JSON.stringify(saveEntry(entry))), 'ckp_1');
  const rest = [turn(2, [skipped('a'), skipped('b')]), turn(3, [acknowledged('trn_1')])];
  const { root, ...after } = fold(rest, restored);
  expect(root).toBe('ckp_1');
  expect(after).toEqual(fold(rest, entry));
  const seen = after.outbox['trn_2#1'] as SeenEvent<'task.skipped'>;
  expect(seen.data.task).toBe('b');
});
