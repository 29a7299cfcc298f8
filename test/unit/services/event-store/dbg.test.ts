import { test } from 'vitest';
import { event, text } from '../../../../schemas/event.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import { encodeRow } from '../../../../services/event-store/columns.ts';
import { decodeRecord } from '../../../../services/event-store/decoded-record.ts';
import { SessionFold } from '../../../../services/event-store/partition-fold.ts';
import { epochBody, openingBody, recordOf, turnBody } from '../../../support/written-session.ts';
import { canonical } from '../../../../services/chassis/protocol/hash.ts';
import { blankRow } from '../../../../services/event-store/plain-rows.ts';
import { sessionRows } from '../../../../services/event-store/session-rows.ts';
test('x', async () => {
  const codec = createFixedCodec();
  const records = [recordOf('e', epochBody(), codec), recordOf('o', openingBody('s'), codec)];
  for (let i = 1; i <= 20000; i++) {
    const data = { task: `task-${i}`, attempt: 1, agent: 'agent', code: 'X', retryable: false };
    records.push(recordOf(`turn-${i}`, turnBody('s', [event('task.failed', { ...data, class: 'crashed' }, { message: text('m'.repeat(850)) })]), codec, { sequence: i }));
  }
  const logs = records.map((r, offset) => ({ ...r, topic: 't', partition: 0, offset, timestampMs: 1 }));
  for (let round = 0; round < 3; round++) {
    let t = performance.now();
    const fold = new SessionFold({ topic: 't', partition: 0 }, { acceptance: {}, closed: [] });
    const decoded = logs.map((l) => decodeRecord(l));
    const d = performance.now() - t; t = performance.now();
    for (const r of decoded) fold.take(r, false);
    const f = performance.now() - t; t = performance.now();
    const fold2 = new SessionFold({ topic: 't', partition: 0 }, { acceptance: {}, closed: [] });
    const rows = decoded.flatMap((r) => fold2.take(r, true));
    const m = performance.now() - t; t = performance.now();
    const time = (name: string, f: (i: number) => unknown) => { const t0 = performance.now(); for (let i = 0; i < decoded.length; i++) f(i); process.stdout.write(`decode ${name} ${(performance.now() - t0) | 0}\n`); };
    time('canon record', (i) => canonical({ headers: decoded[i]!.log.headers, body: decoded[i]!.value }));
    time('canon headers', (i) => canonical(decoded[i]!.log.headers));
    time('stringify body', (i) => JSON.stringify(decoded[i]!.value));
    time('blank', (i) => blankRow(decoded[i]!));
    time('sessionRows', (i) => sessionRows(decoded[i]!, { effectiveEvents: 1, session: undefined }));
    t = performance.now();
    const lines = rows.map(encodeRow);
    const e = performance.now() - t;
    process.stdout.write(`decode ${d | 0} fold ${f | 0} fold+map ${m | 0} encode ${e | 0} bytes ${lines.reduce((s, l) => s + l.length, 0)}\n`);
  }
}, 60000);
