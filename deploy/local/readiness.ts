/**
 * Waits until a started process answers, or says why it does not: it ended, or the deadline is
 * over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LongreinError } from '../../services/chassis/errors.ts';
import { sharedNetworkAdvice } from './container.ts';
import { lastLines } from './files.ts';
import type { ProbeResult } from './probes.ts';
import { isAlive, type ProcessRecord } from './processes.ts';

export interface ReadinessOptions {
  readonly record: ProcessRecord;
  readonly probe: () => Promise<ProbeResult>;
  readonly deadlineMs: number;
}

const pollMs = 40;

/**
 * Resolves when the probe is ok. Throws PROCESS_ENDED (retryable) if the process ends before,
 * NOT_READY if the deadline is over; both with the end of its log.
 */
export async function waitUntilReady(options: ReadinessOptions): Promise<void> {
  const startMs = performance.now();
  let last: ProbeResult = { ok: false, reason: 'it was not asked yet' };
  while (performance.now() - startMs < options.deadlineMs) {
    if (!(await isAlive(options.record))) throw await endedError(options.record);
    last = await options.probe();
    if (last.ok) return;
    await sleep(pollMs);
  }
  throw await notReadyError(options, last.reason);
}

async function endedError(record: ProcessRecord): Promise<LongreinError> {
  const text = `${record.name} ended while it started.${await logEnd(record)}`;
  return new LongreinError('PROCESS_ENDED', text, {
    fix: `Read ${record.logFile}, or run \`longrein doctor\`.`,
    retryable: true,
  });
}

async function notReadyError(options: ReadinessOptions, reason: string): Promise<LongreinError> {
  const { record, deadlineMs } = options;
  const text = `${record.name} is not ready after ${deadlineMs / 1_000} s: ${reason}.`;
  return new LongreinError('NOT_READY', text + (await logEnd(record)), {
    fix: `Read ${record.logFile}; ${usualReason(record)}.`,
  });
}

function usualReason(record: ProcessRecord): string {
  if (record.container === undefined) return 'a very slow or full machine is the usual reason';
  return `if it says there that it has started, ${sharedNetworkAdvice}`;
}

async function logEnd(record: ProcessRecord): Promise<string> {
  const lines = await lastLines(record.logFile, 5);
  return lines.length === 0 ? '' : ` Its log ends with:\n  ${lines.join('\n  ')}`;
}
