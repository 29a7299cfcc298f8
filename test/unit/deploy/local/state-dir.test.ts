import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  claimStateDir,
  readPorts,
  rememberPorts,
  stackLockPath,
  wipeStateDir,
} from '../../../../deploy/local/state-dir.ts';

let dir = '';

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'longrein-state-'));
});

describe('claimStateDir', () => {
  it('takes an empty directory, and again what it took', async () => {
    await claimStateDir(dir);
    await claimStateDir(dir);
    expect(readdirSync(dir).sort()).toEqual(['.gitignore', 'state.json']);
  });

  it('refuses a directory of someone else', async () => {
    writeFileSync(join(dir, 'thesis.tex'), '');
    await expect(claimStateDir(dir)).rejects.toMatchObject({ code: 'STATE_DIR_FOREIGN' });
    expect(readdirSync(dir)).toEqual(['thesis.tex']);
  });

  it('takes a directory called .longrein whatever is in it', async () => {
    const own = join(dir, '.longrein');
    mkdirSync(own);
    writeFileSync(join(own, 'blob'), '');
    await claimStateDir(own);
    expect(existsSync(join(own, 'state.json'))).toBe(true);
  });
});

describe('wipeStateDir', () => {
  it('removes all but the lock that its caller holds', async () => {
    await claimStateDir(dir);
    mkdirSync(join(dir, 'kafka', 'data'), { recursive: true });
    writeFileSync(stackLockPath(dir), '{}');
    await wipeStateDir(dir);
    expect(readdirSync(dir)).toEqual(['lock']);
  });

  it('touches nothing in a directory that is not ours', async () => {
    writeFileSync(join(dir, 'thesis.tex'), '');
    await expect(wipeStateDir(dir)).rejects.toMatchObject({ code: 'STATE_DIR_FOREIGN' });
    expect(readdirSync(dir)).toEqual(['thesis.tex']);
  });
});

describe('ports', () => {
  it('are remembered side by side, and nonsense in the file is ignored', async () => {
    expect(await readPorts(dir)).toEqual({});
    await rememberPorts(dir, { broker: 9001, controller: 9002 });
    await rememberPorts(dir, { broker: 9005 });
    expect(await readPorts(dir)).toEqual({ broker: 9005, controller: 9002 });
    writeFileSync(join(dir, 'ports.json'), '{"broker":"x","registry":80}');
    expect(await readPorts(dir)).toEqual({ registry: 80 });
  });
});
