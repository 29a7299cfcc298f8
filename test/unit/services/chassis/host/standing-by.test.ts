import { describe, expect, test } from 'vitest';
import type { SeenEvent } from '../../../../../schemas/event.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';
import { newerBody } from '../../../../../services/chassis/host/newer-body.ts';
import { readBodyPatiently } from '../../../../../services/chassis/host/read-body.ts';
import { SessionTable } from '../../../../../services/chassis/host/session-table.ts';
import { StandByNotice, standsByIn } from '../../../../../services/chassis/host/standing-by.ts';
import { createCodec, createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../../../services/chassis/log/port.ts';
import {
  type CheckpointBody,
  headersOf,
  type PlacedRecord,
  type RecordBody,
} from '../../../../../services/chassis/protocol/record.ts';
import {
  foldEntry,
  newEntry,
  saveEntry,
  standByOf,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import {
  cancel,
  checkpointBody,
  idleLogic,
  opening,
  placed,
  session,
  skipped,
  turn,
} from '../../../../support/placed-record.ts';
import { keepingLogger, quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';
import { inputBody } from '../../../../support/written-session.ts';

/** What a host makes of sessions that a newer release has written to. */

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const logic = idleLogic<number>({
  initial: () => 0,
  evolve: (count: number, { type }: SeenEvent) => (type === 'task.skipped' ? count + 1 : count),
});

function tableOf(mark = 0) {
  const table = new SessionTable([{ logic, topics: [at.topic] }], new ClosedSessions(at, []));
  const marks = new Map([[logic.name, mark]]);
  const catchingUp = { catchingUp: true, marks };
  const live = { catchingUp: false, marks };
  const seat = () => table.get(session)?.seats.get(logic.name);
  const standBy = () => {
    const entry = seat()?.entry;
    return entry === undefined ? undefined : standByOf(entry);
  };
  return { table, catchingUp, live, seat, standBy };
}

/** The session up to 4, as this release saves it. */
function checkpoint(offset: number, changes: Partial<CheckpointBody> = {}): PlacedRecord {
  const records = [opening(0), turn(4, [skipped('one')])];
  const entry = records.reduce(
    (now, record) => foldEntry(logic, now, { record }),
    newEntry(logic, session),
  );
  const body = saveEntry(entry) as JsonValue;
  const state = { digest: 'b'.repeat(64), mediaType: 'application/json', bytes: 2, body };
  const cursor = { record: 'trn_4', offset: 4 };
  return placed(offset, `ckp_${offset}`, checkpointBody({ state, cursor, ...changes }));
}

const newerFold = { fold: 2, release: '9.0.0', beginning: 0 };

function explained(offset: number): PlacedRecord {
  const record = turn(offset, [skipped('x')]);
  const events = [{ type: 'task.explained', version: 1, data: {} }];
  return { ...record, body: { ...record.body, events } as RecordBody };
}

describe('a checkpoint of a fold that is not read', () => {
  test('is passed over where the opening that it names was read', () => {
    const { table, catchingUp, seat, standBy } = tableOf();
    table.fold(opening(0), catchingUp);
    table.fold(turn(4, [skipped('one')]), catchingUp);
    table.restore(checkpoint(5, newerFold), catchingUp);
    table.fold(turn(6, [skipped('two')]), catchingUp);
    expect(standBy()).toBeUndefined();
    expect([seat()?.entry.state, seat()?.firstNeeded]).toEqual([2, 0]);
  });

  test('is passed over where an older one that is read covers all below the mark', () => {
    const { table, catchingUp, seat, standBy } = tableOf(5);
    table.restore(checkpoint(5), catchingUp);
    table.fold(turn(6, [skipped('two')]), catchingUp);
    const cursor = { record: 'trn_6', offset: 6 };
    table.restore(checkpoint(7, { ...newerFold, cursor }), catchingUp);
    expect(standBy()).toBeUndefined();
    expect([seat()?.entry.state, seat()?.firstNeeded]).toEqual([2, 5]);
  });

  test.each([
    ['nothing older was read', []],
    ['the opening that was read may be a repeat', [opening(3), turn(4, [skipped('one')])]],
  ])('where %s, the session stands by and holds its place', (_why, before) => {
    const { table, catchingUp, seat, standBy } = tableOf(3);
    for (const record of before) table.fold(record, catchingUp);
    table.restore(checkpoint(5, newerFold), catchingUp);
    table.fold(turn(6, [skipped('two')]), catchingUp);
    table.dropUnknown();
    expect(standBy()).toMatchObject({ because: 'a checkpoint of supervisor in fold 2' });
    expect([seat()?.known, seat()?.firstNeeded]).toEqual([true, 5]);
    expect(table.firstNeeded(logic.name, 90)).toBe(5);
    expect(seat()?.entry.core.last.offset).toBe(6);
  });

  test('of a running session moves no watermark', () => {
    const { table, live, seat } = tableOf();
    table.fold(opening(0), live);
    table.fold(turn(4, [skipped('one')]), live);
    table.restore(checkpoint(5, newerFold), live);
    expect([seat()?.firstNeeded, seat()?.entry.state]).toEqual([0, 1]);
    table.restore(checkpoint(6), live);
    expect(seat()?.firstNeeded).toBe(6);
  });
});

describe('a session that stands by', () => {
  test('goes on from a checkpoint that covers the place, with all that came since', () => {
    const { table, live, seat, standBy } = tableOf();
    for (const record of [opening(0), explained(3), turn(4, [skipped('a')])])
      table.fold(record, live);
    expect(standBy()).toMatchObject({ offset: 3 });
    table.fold(turn(5, [skipped('b')]), live);
    const early = checkpoint(6, { cursor: { record: 'inp', offset: 2 } });
    expect(table.wantsBody(early.header, false)).toBe(false);
    expect(table.wantsBody(checkpoint(7).header, false)).toBe(true);
    table.restore(checkpoint(7), live);
    expect(standBy()).toBeUndefined();
    expect([seat()?.entry.state, seat()?.entry.root, seat()?.firstNeeded]).toEqual([2, 'ckp_7', 5]);
  });

  test('is forgotten when it closes', () => {
    const { table, live } = tableOf();
    for (const record of [opening(0), explained(3)]) table.fold(record, live);
    table.fold(turn(5, [{ type: 'session.closed', data: {} }]), live);
    expect(table.get(session)?.core?.status).toBe('closed');
  });

  test('is counted, and said once with what to do', () => {
    const { table, live } = tableOf();
    for (const record of [opening(0), explained(3), turn(4, [])]) table.fold(record, live);
    const slot = table.get(session);
    if (slot === undefined) throw new Error('the session is not there');
    const { lines, ...logger } = keepingLogger();
    const notice = new StandByNotice(at, { logger });
    notice.look(slot);
    notice.look(slot);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      fields: { ...at, session, because: 'event task.explained version 1', offset: 3 },
    });
    const counted = { sessions: 1, because: 'event task.explained version 1' };
    expect(standsByIn(table.slots())).toMatchObject(counted);
    expect(standsByIn([])).toBeUndefined();
  });
});

describe('a record whose body only a newer release reads', () => {
  const fixed = createFixedCodec();
  const newest = createCodec(new Map([['input', 77]]));

  function recordOf(body: RecordBody, value: Uint8Array | null, type?: string): LogRecord {
    const headers = headersOf('rec', body, { batch: 'rec', batchIndex: 0, traceparent: '' });
    const named = type === undefined ? headers : { ...headers, ce_type: type };
    return { ...at, offset: 7, key: session, headers: named, value, timestampMs: 0 };
  }

  const ports = (isLater: (id: number) => boolean) => {
    const ids = new Map([['input', 2]]);
    const clock = new VirtualClock();
    const quiet = quietPorts(new ScriptedLog(), clock, { seed: 1, logger: keepingLogger() });
    const isNewer = async (kind: string, id: number): Promise<boolean> =>
      kind === 'input' && isLater(id);
    return { ...quiet, codec: { ...createCodec(ids), isNewer } };
  };
  const cancelled = inputBody(session, cancel());
  const strange = Buffer.concat([Buffer.from([0, 0, 0, 0, 77]), Buffer.from([1, 2, 3])]);

  test('of a schema later than the own one stands in its place, with what its headers say', async () => {
    const record = recordOf(cancelled, strange);
    const read = await readBodyPatiently(
      record,
      ports((id) => id === 77),
    );
    expect(read).toMatchObject({ kind: 'input', session, event: { version: 0 } });
    const { table, live, standBy } = tableOf();
    table.fold(opening(0), live);
    table.fold(placed(7, 'rec', read as RecordBody), live);
    expect(standBy()?.because).toBe('event session.cancel-requested version 0');
  });

  test("of a schema that is none of ours is nobody's, as ever", async () => {
    const record = recordOf(cancelled, strange);
    expect(
      await readBodyPatiently(
        record,
        ports(() => false),
      ),
    ).toBeUndefined();
  });

  test('under a later schema is read as it is, where it has the shape of a record', async () => {
    const record = recordOf(cancelled, newest.encode('input', cancelled));
    expect(
      await readBodyPatiently(
        record,
        ports(() => true),
      ),
    ).toEqual(cancelled);
  });

  test('of a newer version is not read at all', async () => {
    const known = fixed.encode('input', cancelled);
    for (const body of [turn(1, [skipped('a')]).body, checkpoint(5).body, cancelled]) {
      const record = recordOf(body, known, `longrein.${body.kind}.v9`);
      const read = await readBodyPatiently(
        record,
        ports(() => false),
      );
      expect(read).toEqual(newerBody(record));
      expect(read?.kind).toBe(body.kind);
    }
  });

  test('that is a checkpoint is one of a fold that nobody reads', () => {
    const { table, catchingUp, standBy } = tableOf(3);
    const record = recordOf(checkpoint(5).body, null);
    table.restore(placed(5, 'ckp_5', newerBody(record) as RecordBody), catchingUp);
    expect(standBy()?.because).toMatch(/^a checkpoint of form /);
  });
});
