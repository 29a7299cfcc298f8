import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import { placeLockFile } from '../../../../../services/console/cli/lock-file.ts';

const root = mkdtempSync(join(tmpdir(), 'longrein-lock-'));
const workspace = join(root, 'workspace');
mkdirSync(workspace);
const good = JSON.stringify({
  lockfileVersion: 3,
  packages: { '': {}, 'node_modules/a': {}, 'node_modules/b': {} },
});

function file(name: string, text: string): string {
  const path = join(root, name);
  writeFileSync(path, text);
  return path;
}

async function problemOf(path: string): Promise<LongreinError> {
  try {
    await placeLockFile(path, workspace);
  } catch (thrown) {
    if (thrown instanceof LongreinError) return thrown;
  }
  throw new Error('nothing was thrown');
}

describe('the lock file of the demo', () => {
  it('is used where it lies inside the workspace', async () => {
    mkdirSync(join(workspace, 'shop'));
    const path = file('workspace/shop/package-lock.json', good);
    expect(await placeLockFile(path, workspace)).toEqual({
      path: 'shop/package-lock.json',
      source: path,
      packages: 2,
    });
  });

  it('is copied into the workspace from elsewhere, the same text to the same place', async () => {
    const path = file('other.json', good);
    const placed = await placeLockFile(path, workspace);
    expect(placed.path).toMatch(/^\.longrein\/inbox\/[0-9a-f]{12}\/other\.json$/);
    expect(readFileSync(join(workspace, placed.path), 'utf8')).toBe(good);
    expect((await placeLockFile(path, workspace)).path).toBe(placed.path);
  });

  it.each([
    ['none.json', undefined, 'does not exist'],
    ['text.json', 'hello', 'is not JSON'],
    ['array.json', '[]', 'no lockfileVersion'],
    ['old.json', '{"lockfileVersion": 1}', 'version 1; 2 and 3 can be audited'],
    ['bare.json', '{"lockfileVersion": 3}', 'has no list "packages"'],
  ])('is refused with its path and the reason: %s', async (name, text, reason) => {
    const path = text === undefined ? join(root, name) : file(name, text);
    const problem = await problemOf(path);
    expect(problem.code).toBe('LOCK_FILE');
    expect(problem.message).toContain(path);
    expect(problem.message).toContain(reason);
    expect(problem.fix).not.toBe('');
  });

  it('names the file to give where a directory was given', async () => {
    const problem = await problemOf(root);
    expect(problem.fix).toContain(join(root, 'package-lock.json'));
  });
});
