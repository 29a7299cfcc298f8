/** Waits until hosts say that they are ready, or tells why one cannot be. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines, textFrom } from '../../../deploy/local/files.ts';
import { isAlive, type ProcessRecord } from '../../../deploy/local/processes.ts';
import type { Report } from '../../../deploy/local/report.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { readHostLog } from './host-log.ts';
import { hostOfAll } from './host-plan.ts';

/** A host that was started or kept. */
export interface Watched {
  readonly record: ProcessRecord;
  /** Where in the log the words of this process begin. */
  readonly fromByte: number;
  /** It said so before. */
  readonly ready: boolean;
}

const readyMs = 90_000;
const pollMs = 50;

/** Throws what a host says that ended it, HOST_ENDED, or HOST_NOT_READY. */
export async function untilReady(report: Report, hosts: readonly Watched[]): Promise<void> {
  const startMs = performance.now();
  let waiting = hosts.filter((host) => !host.ready);
  let told = '';
  while (waiting.length > 0) {
    const seen = await Promise.all(waiting.map(look));
    const late = performance.now() - startMs > readyMs;
    const note = seen.find((news) => news.waiting !== undefined)?.waiting;
    if (note !== undefined && note !== told) report({ kind: 'note', text: note });
    told = note ?? told;
    const before = waiting.length;
    waiting = waiting.filter((_, index) => seen[index]?.ready !== true);
    if (late && waiting[0] !== undefined) throw notReady(waiting[0], note);
    if (waiting.length > 0 && waiting.length < before) sayHowMany(report, hosts, waiting);
    if (waiting.length > 0) await sleep(pollMs);
  }
}

function sayHowMany(report: Report, hosts: readonly Watched[], waiting: readonly Watched[]): void {
  const detail = `${hosts.length - waiting.length} of ${hosts.length} ready`;
  report({ kind: 'step', name: 'services', state: 'starting', detail });
}

interface Look {
  readonly ready: boolean;
  readonly waiting: string | undefined;
}

/** Throws why the host ended, if it did. */
async function look(host: Watched): Promise<Look> {
  const alive = await isAlive(host.record);
  const news = readHostLog(await textFrom(host.record.logFile, host.fromByte), host.record.pid);
  if (alive) return { ready: news.ready, waiting: news.waiting };
  const where = `Its log is ${host.record.logFile}.`;
  if (news.fatal !== undefined) {
    const { code, message, fix } = news.fatal;
    throw new LongreinError(code, `${nameOf(host)} ended: ${message}`, {
      fix: [fix, where].filter(Boolean).join(' '),
    });
  }
  const lines = await lastLines(host.record.logFile, 5);
  const text = `${nameOf(host)} ended while it started.\n${lines.join('\n')}`;
  throw new LongreinError('HOST_ENDED', text, { fix: where });
}

function notReady(host: Watched, note: string | undefined): LongreinError {
  const { record } = host;
  const text = `${nameOf(host)} is not ready after ${readyMs / 1_000} s`;
  return new LongreinError('HOST_NOT_READY', note === undefined ? text : `${text}: ${note}`, {
    fix: `Read ${record.logFile}; \`longrein doctor\` looks at what it needs.`,
    retryable: true,
  });
}

const nameOf = ({ record }: Watched): string =>
  record.name === hostOfAll ? 'the host' : `the host ${record.name}`;
