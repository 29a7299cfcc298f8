/** Spreads the verification of many sessions over the cores: deciding is all that it does. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Verified } from '../../../replay-tools/verify/gate.ts';
import { LongreinError } from '../../chassis/errors.ts';
import type { Wanted } from './session-source.ts';
import { verifyOne } from './verify-one.ts';
import type { VerifyAnswer } from './verify-worker.ts';

const program = new URL('./verify-worker.js', import.meta.url);
/** Below so many a core is busier with its start than with sessions. */
const sessionsPerCoreMin = 4;

/** Cores that are worth it; with one, no threads. Sources that run without a build have none either. */
export function coresFor(sessions: number, cores: number = availableParallelism()): number {
  if (!import.meta.url.endsWith('.js')) return 1;
  return Math.max(1, Math.min(cores, Math.floor(sessions / sessionsPerCoreMin)));
}

type Run = { next: number; readonly found: Verified[]; readonly onDone: (done: number) => void };

async function inThisThread(wanted: readonly Wanted[], run: Run): Promise<void> {
  for (const one of wanted) {
    run.found.push(await verifyOne(one));
    run.onDone(run.found.length);
  }
}

/** One thread takes the next session whenever it is through with one. */
function inThread(wanted: readonly Wanted[], run: Run, count: { done: number }): Promise<void> {
  const worker = new Worker(fileURLToPath(program));
  const give = (): boolean => {
    const index = run.next;
    const one = wanted[index];
    if (one === undefined) return false;
    run.next += 1;
    worker.postMessage({ index, wanted: one });
    return true;
  };
  const work = new Promise<void>((resolve, reject) => {
    worker.on('error', reject);
    worker.on('exit', (code) =>
      reject(new LongreinError('VERIFY_FAILED', `a thread that verifies ended with ${code}`)),
    );
    worker.on('message', (answer: VerifyAnswer) => {
      if ('failed' in answer) {
        const { code, message, fix } = answer.failed;
        reject(new LongreinError(code, message, fix === undefined ? {} : { fix }));
        return;
      }
      run.found[answer.index] = answer.verified;
      count.done += 1;
      run.onDone(count.done);
      if (!give()) resolve();
    });
    if (!give()) resolve();
  });
  return work.finally(() => worker.terminate());
}

/**
 * What came of each session, in their order; `onDone` hears how many are through. Throws where something is away that all
 * of them need.
 */
export async function verifyMany(
  wanted: readonly Wanted[],
  onDone: (done: number) => void,
  cores: number = coresFor(wanted.length),
): Promise<readonly Verified[]> {
  const run: Run = { next: 0, found: [], onDone };
  const count = { done: 0 };
  if (cores <= 1) await inThisThread(wanted, run);
  else await Promise.all(Array.from({ length: cores }, () => inThread(wanted, run, count)));
  return run.found;
}
