import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { entriesBelow } from '../../../../../../services/console/cli/erase/tree.ts';

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'longrein-tree-'));
  for (const path of ['a/b', 'gone/c']) mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, 'a/b/one.jsonl'), '');
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

test('what others delete meanwhile is not there any more, and the rest is found', async () => {
  const found = await entriesBelow(root, async (path) => {
    if (path === join(root, 'gone')) rmSync(path, { recursive: true });
    return readdir(path, { withFileTypes: true });
  });
  expect(found.map(({ name }) => name).sort()).toEqual(['a', 'b', 'gone', 'one.jsonl']);
});

test('a place that does not exist is said', async () => {
  await expect(entriesBelow(join(root, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' });
});
