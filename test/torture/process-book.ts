import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isAlive,
  type ProcessRecord,
  type StartOptions,
  type StopOutcome,
  startDetached,
  stopProcess,
} from '../../deploy/local/processes.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

/**
 * Every process of a run, recorded before anything else is done with it. A reaper of its own watches
 * over the run: when the run ends in whatever way, it ends what is recorded and still runs.
 */
export class ProcessBook {
  private readonly file: string;
  private readonly running = new Map<number, ProcessRecord>();

  constructor(dir: string) {
    this.file = join(dir, 'processes.jsonl');
    writeFileSync(this.file, '');
    const reaper = spawn(process.execPath, [join(packageRoot, 'test/torture/reaper.mjs'), dir], {
      // Its input ends with this process, however that ends.
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    });
    reaper.unref();
    (reaper.stdin as unknown as { unref?(): void }).unref?.();
  }

  async start(options: StartOptions): Promise<ProcessRecord> {
    return this.note(await startDetached(options));
  }

  note(record: ProcessRecord): ProcessRecord {
    const { pid, startedAtMark, name } = record;
    appendFileSync(this.file, `${JSON.stringify({ pid, mark: startedAtMark, name })}\n`);
    this.running.set(pid, record);
    return record;
  }

  /** `kill -9`, and waits until it is gone. */
  async kill(record: ProcessRecord): Promise<void> {
    if (await isAlive(record)) process.kill(record.pid, 'SIGKILL');
    while (await isAlive(record)) await new Promise((resolve) => setTimeout(resolve, 10));
    this.running.delete(record.pid);
  }

  async stop(record: ProcessRecord, withinMs = 20_000): Promise<StopOutcome> {
    const outcome = await stopProcess(record, withinMs);
    this.running.delete(record.pid);
    return outcome;
  }

  /** Ends all that still runs, the newest first. */
  async endAll(): Promise<void> {
    for (const record of [...this.running.values()].reverse()) await this.kill(record);
  }
}
