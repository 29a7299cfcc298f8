import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../../../services/chassis/config/package-root.ts';
import { coresFor, verifyMany } from '../../../../../services/console/cli/verify-pool.ts';

/** Many sessions in one run. What threads do is tested with the build, by the command itself. */

const wanted = (file: string) => ({
  environment: {},
  workingDir: packageRoot,
  id: '',
  source: 'file' as const,
  file: join('test/replay', file),
});

test('each session has its own answer, in their order, and one that cannot be read ends nothing', async () => {
  const heard: number[] = [];
  const files = ['cancelled.jsonl', 'absent.jsonl', 'model-loop.jsonl'];
  const found = await verifyMany(files.map(wanted), (done) => heard.push(done));
  expect(found.map((one) => ('identical' in one ? one.identical : one.problem))).toEqual([
    true,
    expect.stringContaining('absent.jsonl cannot be read'),
    true,
  ]);
  expect(heard).toEqual([1, 2, 3]);
});

test('sources that were not built run in one thread', () => {
  expect(coresFor(100, 8)).toBe(1);
});
