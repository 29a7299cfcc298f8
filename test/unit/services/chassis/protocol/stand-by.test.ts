import { describe, expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../../schemas/event.ts';
import { decideEntry, noFacts } from '../../../../../services/chassis/protocol/decision.ts';
import type { EventRecord } from '../../../../../services/chassis/protocol/event-record.ts';
import type { PlacedRecord, TurnBody } from '../../../../../services/chassis/protocol/record.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
  standByOf,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../../../../services/chassis/protocol/service-logic.ts';
import { foldCore, unknownSession } from '../../../../../services/chassis/protocol/session-core.ts';
import {
  cancel,
  idleLogic,
  input,
  opening,
  session,
  skipped,
  turn,
} from '../../../../support/placed-record.ts';

const logic = idleLogic<number>({
  initial: () => 0,
  evolve: (count: number, { type }: SeenEvent) => (type === 'task.skipped' ? count + 1 : count),
  answers: ({ type }) => type === 'session.cancel-requested',
  decide: () => [skipped('due')],
});
const pool: AnyLogic = { ...logic, name: 'worker-pool:writers' };

/** A turn of a newer release, with what today's does not know among its events. */
function newer(offset: number, strange: Partial<EventRecord>, service = 'planner'): PlacedRecord {
  const record = turn(offset, [skipped('known')], { service, release: '9.0.0' });
  const { events, ...body } = record.body as TurnBody;
  const unknown = { type: 'task.explained', version: 1, data: {}, ...strange };
  return { ...record, body: { ...body, events: [...events, unknown] } };
}

const fold = (records: readonly PlacedRecord[], of: AnyLogic = logic): ServiceEntry =>
  records.reduce((now, record) => foldEntry(of, now, { record }), newEntry(of, session));

const decided = (entry: ServiceEntry): number => decideEntry(logic, entry, noFacts(9_000)).length;

describe('an event that is not understood', () => {
  const standBy = {
    because: 'event task.explained version 1',
    ...{ record: 'trn_1', offset: 1, release: '9.0.0' },
  };

  test('makes every service stand by in its session: no failure, no decision, no wrong state', () => {
    const entry = fold([opening(0), newer(1, {}), turn(2, [skipped('b')]), input(3, cancel())]);
    expect(standByOf(entry)).toEqual(standBy);
    expect(entry).toMatchObject({ state: 0, causes: [], core: { failed: [] } });
    expect(entry.broken).toBeUndefined();
    expect(decided(entry)).toBe(0);
    expect(decided(fold([opening(0), turn(1, [skipped('b')])]))).toBe(1);
  });

  test('counts like any other: the session goes on for those who read on, to its end', () => {
    const core = fold([opening(0)]).core;
    const step = foldCore(core, newer(1, {}));
    expect(step.events.map(({ type }) => type)).toEqual(['task.skipped', 'task.explained']);
    expect(step.core.recent).toEqual(['trn_1']);
    const closed = fold([opening(0), newer(1, {}), turn(2, [event('session.closed', {})])]);
    expect(closed.core.status).toBe('closed');
  });

  test.each([
    ['the service itself', ['supervisor'], logic, true],
    ['another one', ['planner'], logic, false],
    ['nobody', [], logic, false],
    ['all pools', ['worker-pool'], pool, true],
  ] as const)('that names %s as its reader concerns nobody else', (_who, readers, of, stands) => {
    const entry = fold([opening(0), newer(1, { readers }), turn(2, [skipped('b')])], of);
    expect(standByOf(entry) !== undefined).toBe(stands);
    expect(entry.state).toBe(stands ? 0 : 2);
  });

  test('in a version that is newer concerns everybody, whatever readers it names', () => {
    const entry = fold([opening(0), newer(1, { type: 'timer.set', version: 2, readers: [] })]);
    expect(standByOf(entry)?.because).toBe('event timer.set version 2');
    expect(entry.core.timers).toEqual({});
  });
});

describe('an input that is not understood', () => {
  const strange = (offset: number): PlacedRecord => {
    const record = input(offset, cancel());
    const body = { ...record.body, event: { type: 'session.warned', version: 1, data: {} } };
    return { ...record, body } as unknown as PlacedRecord;
  };

  test('may open a session: its place is kept, though nothing is known', () => {
    const step = foldCore(unknownSession(session), strange(3));
    expect(step).toMatchObject({ core: { status: 'unknown' }, events: [] });
    expect(step.core.standBy).toMatchObject({
      offset: 3,
      because: 'event session.warned version 1',
    });
  });

  test('counts once in an open session, and not at all in one that has ended', () => {
    const once = fold([opening(0), strange(1)]);
    expect(standByOf(once)?.record).toBe('inp_1');
    const again = foldCore(once.core, { ...strange(1), offset: 2 });
    expect(again.ignored).toBe('duplicate');
    const closed = fold([opening(0), turn(1, [event('session.closed', {})])]);
    expect(foldCore(closed.core, strange(2))).toMatchObject({ ignored: 'closed' });
    expect(standByOf(fold([opening(0), turn(1, [event('session.closed', {})]), strange(2)]))).toBe(
      undefined,
    );
  });
});
