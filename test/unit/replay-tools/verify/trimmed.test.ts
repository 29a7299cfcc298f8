import { beforeAll, expect, test } from 'vitest';
import { readFromLog } from '../../../../replay-tools/read/kafka.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import type { SessionSource, SourceRecord } from '../../../../replay-tools/read/source.ts';
import { reportLines } from '../../../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import { accept, copyAcceptance } from '../../../../services/chassis/protocol/acceptance.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { recordsOf, sourceFromWorld, withRecords } from '../../../support/world-session.ts';

/** A log whose beginning the janitor deleted: what is left is verified, the rest is named. */

let world: MemoryWorld;
let session: string;
let whole: SessionSource;
let records: readonly SourceRecord[];

beforeAll(async () => {
  world = await MemoryWorld.start({
    ...{ seed: 43, housekeepingMs: 20 },
    tools: { 'test.flaky': (_call, count) => (count < 3 ? { failure: {} } : { result: {} }) },
  });
  ({ session } = world.publishGoal({ goal: 'Try.', plan: 'flaky' }));
  await world.clock.run(100);
  await world.stopHost('host-1');
  await world.startHost('host-2', ['all']);
  await world.runUntilDone();
  whole = await sourceFromWorld(world, session);
  records = await recordsOf(whole);
});

/** The session from this offset on, with who owned what there. */
function cutAt(offset: number, known = true): SessionSource {
  const acceptance = copyAcceptance(whole.acceptance);
  for (const { header, offset: at } of records) if (at < offset) accept(acceptance, header);
  const kept = records.filter((record) => record.offset >= offset);
  const cut = { ...whole, whole: false, from: offset, acceptance: known ? acceptance : {} };
  return withRecords(cut, kept);
}

const checkpoints = () =>
  records.filter(({ header }) => header.kind === 'checkpoint' && header.session === session);

test('from a checkpoint on every record is judged as in the whole log', async () => {
  const cursors = checkpoints().map(({ body }) =>
    body?.kind === 'checkpoint' ? body.cursor.offset : 0,
  );
  const from = Math.min(...cursors) + 1;
  expect(from).toBeGreaterThan(5);
  const before = (await judgeSession(whole)).records.filter(({ record }) => record.offset >= from);
  const judged = await judgeSession(cutAt(from));
  expect(judged.restoredAt).toBe(from - 1);
  expect(judged.records.map(({ verdict }) => verdict)).toEqual(
    before.map(({ verdict }) => verdict),
  );
  expect(judged.core.status).toBe('closed');
});

test('what can be decided again is, the rest is checked by hash, and nothing differs', async () => {
  const from = Math.min(...checkpoints().map(({ offset }) => offset));
  const report = await verifySession(cutAt(from));
  expect(reportLines(report).filter((line) => line.startsWith('!'))).toEqual([]);
  expect(report).toMatchObject({ identical: true, complete: false, status: 'closed' });
  expect(report.counts.decisions).toBeGreaterThan(3);
  expect(report.warnings.join('\n')).toContain('was cut by retention');
  const all = await verifySession(whole);
  expect(report.counts.decisions).toBeLessThan(all.counts.decisions);
});

test('a record that was changed behind the cut is found', async () => {
  const from = Math.min(...checkpoints().map(({ offset }) => offset));
  const cut = cutAt(from);
  const kept = await recordsOf(cut);
  const at = kept.findLastIndex(({ body }) => body?.kind === 'turn');
  const changed = kept.map((record, index) =>
    index === at && record.body?.kind === 'turn'
      ? { ...record, body: { ...record.body, principal: 'somebody else' } }
      : record,
  );
  const { identical, differences } = await verifySession(withRecords(cut, changed));
  expect(identical).toBe(false);
  expect(differences[0]?.kind).toBe('record-id');
});

test('without any checkpoint nothing is claimed', async () => {
  const last = Math.max(...checkpoints().map(({ offset }) => offset));
  const report = await verifySession(cutAt(last + 1));
  expect(report).toMatchObject({ status: 'unknown', complete: false });
  expect(report.warnings.join('\n')).toContain('nothing could be decided again');
});

test('what comes after the end of a source is read as it comes', async () => {
  const own = await MemoryWorld.start({ seed: 44, partitions: 1 });
  const first = own.publishGoal({ goal: 'Say hello.', plan: 'echo' });
  await own.runUntilDone();
  const log = own.connect('follow');
  const reading = { log, codec: own.codec, blobs: own.blobs };
  const source = await own.during(readFromLog(reading, first.session));
  const last = await own.during(recordsOf(source).then((list) => list.at(-1)?.offset ?? -1));
  const next = source.later?.()[Symbol.asyncIterator]().next();
  const second = own.publishGoal({ goal: 'Once more.', plan: 'echo' });
  await own.runUntilDone();
  const { value } = (await next) as { value: SourceRecord };
  expect(value.offset).toBeGreaterThan(last);
  expect(value.header).toMatchObject({ kind: 'turn', session: second.session });
  await log.close();
});
