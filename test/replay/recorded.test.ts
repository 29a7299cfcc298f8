import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readExport } from '../../replay-tools/read/file.ts';
import { releaseLogics } from '../../replay-tools/verify/logics.ts';
import { reportLines } from '../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import type { CheckpointBody } from '../../services/chassis/protocol/record.ts';
import { readCheckpoint } from '../../services/chassis/protocol/saved-entry.ts';
import { nextLogic } from '../support/next-release.ts';

/**
 * Sessions that were recorded once and have to verify for ever. Where a service got a new behaviour version since, its
 * turns are checked by hash only, and the report says so.
 */

const directory = join(packageRoot, 'test/replay');
const files = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));

test('there are recorded sessions', () => {
  expect(files.length).toBeGreaterThan(2);
});

test.each(files)('%s is decided the same by this release', async (file) => {
  const report = await verifySession(await readExport(join(directory, file)));
  expect(reportLines(report).filter((line) => line.startsWith('!'))).toEqual([]);
  expect(report).toMatchObject({ identical: true, status: 'closed' });
  expect(report.counts.decisions + report.counts.hashOnly).toBeGreaterThan(5);
  const unexplained = report.warnings.filter((one) => !one.includes('checked by hash only'));
  expect(unexplained).toEqual([]);
});

/** Every checkpoint of a recording, with the service's logic of today. */
async function checkpointsIn(file: string) {
  const source = await readExport(join(directory, file));
  const found: { body: CheckpointBody; id: string }[] = [];
  for await (const { body, header } of source.records())
    if (body?.kind === 'checkpoint') found.push({ body, id: header.id });
  return found;
}

test('every checkpoint that was ever recorded is one that this release, and the next, start from', async () => {
  const all = (await Promise.all(files.map(checkpointsIn))).flat();
  expect(all.length).toBeGreaterThan(5);
  for (const { body, id } of all) {
    const logic = releaseLogics(body.service);
    if (logic === undefined) throw new Error(`there is no ${body.service} any more`);
    expect(readCheckpoint(logic, body, id).standBy).toBeUndefined();
    const next = readCheckpoint(nextLogic(logic), body, id);
    expect(next.standBy).toBeUndefined();
    expect(next.state).toMatchObject({ noted: { asked: 0, said: 0 } });
  }
});

test.each(files)('%s is verified by the next release without a false difference', async (file) => {
  const next: typeof releaseLogics = (service) => {
    const logic = releaseLogics(service);
    return logic === undefined ? undefined : nextLogic(logic);
  };
  const report = await verifySession(await readExport(join(directory, file)), next);
  expect(report).toMatchObject({ identical: true, status: 'closed' });
  expect(report.counts.decisions).toBe(0);
  expect(report.hashed.every(({ behaviour }) => behaviour === 1)).toBe(true);
});
