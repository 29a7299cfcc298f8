import { expect, test } from 'vitest';
import { event } from '../../../../schemas/event.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import type { OutgoingRecord } from '../../../../services/chassis/log/port.ts';
import { decodeRecord } from '../../../../services/event-store/decoded-record.ts';
import { SessionFold } from '../../../../services/event-store/partition-fold.ts';
import { ReadyRows } from '../../../../services/event-store/ready-rows.ts';
import { epochBody, openingBody, recordOf, turnBody } from '../../../support/written-session.ts';

const codec = createFixedCodec();
const at = { topic: 'longrein.sessions.normal', partition: 0 };

const closing = (session: string): OutgoingRecord =>
  recordOf(`end-${session}`, turnBody(session, [event('session.closed', {})]), codec, {
    sequence: 1,
  });

function readyOf(records: readonly OutgoingRecord[]): ReadyRows {
  const fold = new SessionFold(at, { acceptance: {}, closed: [] });
  const ready = new ReadyRows();
  for (const [offset, record] of records.entries()) {
    const log = { ...record, ...at, offset, timestampMs: 0 };
    const decoded = decodeRecord(log);
    const judgement = fold.judge(decoded);
    const counts = { rows: 1, bytes: 1, readyAtMs: 0, needFrom: 0 };
    ready.push({ log, header: decoded.header, judgement, ...counts });
  }
  return ready;
}

const open = [
  recordOf('epoch', epochBody(), codec),
  recordOf('one', openingBody('ses_1'), codec),
  recordOf('two', openingBody('ses_2'), codec),
];

test('rows know that the end of a session is among them, until it is stored', () => {
  expect(readyOf(open).hasEnd).toBe(false);
  const ready = readyOf([
    ...open,
    closing('ses_1'),
    recordOf('three', openingBody('ses_3'), codec),
  ]);
  expect(ready.hasEnd).toBe(true);
  ready.release(3);
  expect(ready.hasEnd).toBe(true);
  ready.release(4);
  expect([ready.hasEnd, ready.rows]).toEqual([false, 1]);
  ready.release(5);
  expect(ready.hasEnd).toBe(false);
});

test('an end that does not count is none', () => {
  expect(readyOf([...open, closing('ses_unknown')]).hasEnd).toBe(false);
});
