import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readExport } from '../../replay-tools/read/file.ts';
import { reportLines } from '../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

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
