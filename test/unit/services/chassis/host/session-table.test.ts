import { describe, expect, test } from 'vitest';
import type { SeenEvent } from '../../../../../schemas/event.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';
import { SessionTable } from '../../../../../services/chassis/host/session-table.ts';
import type { ClosedSegment } from '../../../../../services/chassis/host/watermarks.ts';
import {
  foldEntry,
  newEntry,
  saveEntry,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import {
  cancel,
  checkpointBody,
  idleLogic,
  input,
  opening,
  placed,
  session,
  skipped,
  turn,
} from '../../../../support/placed-record.ts';

/** What a start in the middle of the log makes of sessions that began, or ended, elsewhere. */

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const logic = idleLogic<number>({
  initial: () => 0,
  evolve: (count: number, { type }: SeenEvent) => (type === 'task.skipped' ? count + 1 : count),
});

function tableOf(closed: readonly ClosedSegment[] = []) {
  const table = new SessionTable([{ logic, topics: [at.topic] }], new ClosedSessions(at, closed));
  const catchingUp = { catchingUp: true, marks: new Map<string, number>() };
  const seat = () => table.get(session)?.seats.get(logic.name);
  return { table, catchingUp, seat };
}

/** The checkpoint of a session that was opened at 0 and answered once, at 4. */
function checkpoint(offset: number) {
  const records = [opening(0), turn(4, [skipped('one')])];
  const entry = records.reduce(
    (now, record) => foldEntry(logic, now, { record }),
    newEntry(logic, session),
  );
  const body = saveEntry(entry) as JsonValue;
  const state = { digest: 'b'.repeat(64), mediaType: 'application/json', bytes: 2, body };
  return placed(
    offset,
    `ckp_${offset}`,
    checkpointBody({ state, cursor: { record: 'trn_4', offset: 4 } }),
  );
}

test('what all services of a host know of a session is folded once for all of them', () => {
  const names = ['one', 'other'];
  const services = names.map((name) => ({ logic: { ...logic, name }, topics: [at.topic] }));
  const table = new SessionTable(services, new ClosedSessions(at, []));
  for (const record of [opening(0), turn(4, [skipped('one')])])
    table.fold(record, { catchingUp: false, marks: new Map() });
  const [one, other] = names.map((name) => table.get(session)?.seats.get(name)?.entry.core);
  expect(one?.last.offset).toBe(4);
  expect(other).toBe(one);
});

describe('a start in the middle of the log', () => {
  test('leaves a session alone that is known to have closed, also what stands before its closing', () => {
    const { table, catchingUp, seat } = tableOf([{ ...at, hour: 1, sessions: { [session]: 60 } }]);
    for (const record of [
      input(36, cancel()),
      opening(40, 'inp_again'),
      turn(41, [skipped('two')]),
    ])
      expect(table.fold(record, catchingUp)).toBeUndefined();
    table.restore(checkpoint(50), catchingUp);
    expect(seat()).toBeUndefined();
    expect(table.firstNeeded(logic.name, 70)).toBe(70);
  });

  test.each([
    ['a cancel', input(5, cancel())],
    ['a repeated opening', opening(5)],
  ])('takes %s for what it is once a checkpoint was read behind it', (_what, record) => {
    const { table, catchingUp, seat } = tableOf();
    table.fold(record, catchingUp);
    table.fold(turn(6, [skipped('two')]), catchingUp);
    table.restore(checkpoint(7), catchingUp);
    table.dropUnknown();
    const { known, entry, firstNeeded } = seat() ?? {};
    expect([known, entry?.core.status, entry?.state, firstNeeded]).toEqual([true, 'open', 2, 5]);
  });

  test('keeps a cancel whose session may still open', () => {
    const { table, catchingUp, seat } = tableOf();
    table.fold(input(5, cancel()), catchingUp);
    table.dropUnknown();
    expect([seat()?.known, seat()?.entry.core.status]).toEqual([true, 'cancelled-early']);
    expect(table.firstNeeded(logic.name, 9)).toBe(5);
  });

  test('takes the newest checkpoint, and none with an older cursor after it', () => {
    const { table, catchingUp, seat } = tableOf();
    table.restore(checkpoint(7), catchingUp);
    table.fold(turn(8, [skipped('two')]), catchingUp);
    table.restore(checkpoint(9), catchingUp);
    expect([seat()?.entry.state, seat()?.entry.core.last.offset]).toEqual([2, 8]);
  });
});

test('a checkpoint of a session that is held already does not put it back to its cursor', () => {
  const { table, seat } = tableOf();
  const live = { catchingUp: false, marks: new Map<string, number>() };
  table.fold(opening(0), live);
  table.fold(turn(4, [skipped('one')]), live);
  table.fold(turn(5, [skipped('two')]), live);
  table.restore(checkpoint(6), live);
  expect([seat()?.entry.state, seat()?.firstNeeded]).toEqual([2, 5]);
});
