import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseHolder, withLock } from '../../../../deploy/local/lock.ts';
import { markOf } from '../../../../deploy/local/process-mark.ts';
import type { StackEvent } from '../../../../deploy/local/report.ts';

let path = '';
let events: StackEvent[] = [];
const report = (event: StackEvent): void => {
  events.push(event);
};

beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'longrein-lock-')), 'lock');
  events = [];
});

describe('withLock', () => {
  it('lets one work at a time and leaves nothing behind', async () => {
    let inside = 0;
    const work = async (): Promise<number> => {
      inside += 1;
      expect(inside).toBe(1);
      expect(parseHolder(readFileSync(path, 'utf8'))?.pid).toBe(process.pid);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      return 7;
    };
    const options = { path, purpose: 'up', report };
    expect(await Promise.all([withLock(options, work), withLock(options, work)])).toEqual([7, 7]);
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  it('is given back when the work fails', async () => {
    const fail = (): Promise<never> => Promise.reject(new Error('no'));
    await expect(withLock({ path, purpose: 'up', report }, fail)).rejects.toThrow('no');
    expect(existsSync(path)).toBe(false);
  });

  it('takes over the lock of a process that is gone', async () => {
    writeFileSync(path, JSON.stringify({ pid: process.pid, mark: 'an earlier process' }));
    const result = await withLock({ path, purpose: 'up', report }, () => Promise.resolve('in'));
    expect(result).toBe('in');
    expect(events).toEqual([]);
  });

  it('takes over a lock that is damaged', async () => {
    writeFileSync(path, '{');
    expect(await withLock({ path, purpose: 'up', report }, () => Promise.resolve(1))).toBe(1);
  });

  it('tells at once whom it waits for, and gives up with a way out', async () => {
    const mark = await markOf(process.ppid);
    writeFileSync(path, JSON.stringify({ pid: process.ppid, mark }));
    const options = { path, purpose: 'down', report, waitMs: 250 };
    const wait = withLock(options, () => Promise.resolve());
    await expect(wait).rejects.toMatchObject({
      code: 'LOCKED',
      fix: expect.stringContaining(String(process.ppid)),
    });
    expect(events).toEqual([
      { kind: 'note', text: `down waits for process ${process.ppid}, which holds ${path}` },
    ]);
  });
});
