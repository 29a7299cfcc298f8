import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import {
  isAlive,
  type ProcessRecord,
  startDetached,
  stopProcess,
} from '../../../../deploy/local/processes.ts';

const dir = mkdtempSync(join(tmpdir(), 'longrein-processes-'));
const started: ProcessRecord[] = [];

async function startNode(script: string, name = 'child'): Promise<ProcessRecord> {
  const record = await startDetached({
    name,
    command: process.execPath,
    args: ['-e', script],
    env: { PATH: process.env.PATH },
    logFile: join(dir, 'logs', `${name}-${started.length}.log`),
    port: 1234,
    leaves: { from: join(dir, 'made.part'), to: join(dir, 'made') },
  });
  started.push(record);
  return record;
}

async function logShows(record: ProcessRecord, text: string): Promise<void> {
  while (!readFileSync(record.logFile, 'utf8').includes(text)) await sleep(20);
}

afterEach(async () => {
  for (const record of started.splice(0)) await stopProcess(record, 0);
});

describe('a detached process', () => {
  it('is recorded with name, pid, port and a log that holds both outputs', async () => {
    const script = "console.log('to out'); console.error('to err'); setInterval(() => {}, 1000)";
    const record = await startNode(script);
    expect(record).toMatchObject({ name: 'child', port: 1234 });
    expect(await isAlive(record)).toBe(true);
    await logShows(record, 'to out');
    await logShows(record, 'to err');
  });

  it('ends on SIGTERM and what it leaves is moved into place', async () => {
    const record = await startNode("console.log('up'); setInterval(() => {}, 1000)");
    await logShows(record, 'up');
    writeFileSync(join(dir, 'made.part'), 'whole');
    expect(await stopProcess(record, 5_000)).toBe('stopped');
    expect(await isAlive(record)).toBe(false);
    expect(readFileSync(join(dir, 'made'), 'utf8')).toBe('whole');
  });

  it('is killed after the deadline, and what it left half done is removed', async () => {
    const script =
      "process.on('SIGTERM', () => {}); console.log('deaf'); setInterval(() => {}, 1000)";
    const record = await startNode(script);
    await logShows(record, 'deaf');
    writeFileSync(join(dir, 'made.part'), 'half');
    expect(await stopProcess(record, 100)).toBe('killed');
    expect(await isAlive(record)).toBe(false);
    expect(existsSync(join(dir, 'made.part'))).toBe(false);
  });

  it('is left alone when the pid belongs to another program by now', async () => {
    const record = await startNode('setInterval(() => {}, 1000)');
    const earlier = { ...record, startedAtMark: 'of an earlier process' };
    expect(await isAlive(earlier)).toBe(false);
    expect(await stopProcess(earlier, 1_000)).toBe('gone');
    expect(await isAlive(record)).toBe(true);
  });

  it('that cannot be started is an error that names the program', async () => {
    const options = { name: 'broker', args: [], env: {}, logFile: join(dir, 'none.log') };
    const start = startDetached({ ...options, command: join(dir, 'no-such-java') });
    await expect(start).rejects.toMatchObject({
      code: 'PROCESS_START',
      fix: expect.stringContaining('no-such-java'),
    });
  });
});
