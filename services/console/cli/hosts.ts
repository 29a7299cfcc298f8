/**
 * Hosts as processes of the local stack: starts what is missing, starts again what died or was
 * started with other settings, and waits until each says that it is ready or why it cannot be.
 */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalSettings } from '../../../deploy/local/config.ts';
import {
  lastLines,
  readJsonIfThere,
  textFrom,
  writeJsonAtomic,
} from '../../../deploy/local/files.ts';
import { withLock } from '../../../deploy/local/lock.ts';
import { isAlive, type ProcessRecord, stopProcess } from '../../../deploy/local/processes.ts';
import type { Report } from '../../../deploy/local/report.ts';
import { startRecorded } from '../../../deploy/local/stack.ts';
import { StackBook } from '../../../deploy/local/stack-file.ts';
import { stackLockPath } from '../../../deploy/local/state-dir.ts';
import { packageRoot } from '../../chassis/config/package-root.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { hostVariables } from './config.ts';
import { readHostLog } from './host-log.ts';
import type { HostPlan } from './host-plan.ts';

export interface HostsOptions {
  readonly settings: LocalSettings;
  readonly env: Record<string, string | undefined>;
  /** Addresses that the hosts read when they start. */
  readonly addresses: readonly (string | null)[];
  readonly report: Report;
}

export interface HostState {
  readonly name: string;
  readonly pid: number;
  readonly state: 'started' | 'restarted' | 'kept';
  readonly logFile: string;
}

/** What is remembered of a host beside its process record. */
type HostMemory = Readonly<Record<string, { pid: number; settings: string; ready: boolean }>>;

const stopMs = 20_000;
const readyMs = 90_000;
const pollMs = 50;

const memoryPath = (stateDir: string): string => join(stateDir, 'hosts.json');

async function readMemory(stateDir: string): Promise<HostMemory> {
  const value = await readJsonIfThere(memoryPath(stateDir));
  return typeof value === 'object' && value !== null ? (value as HostMemory) : {};
}

/** A hash of all that a host takes from outside when it starts; it may contain keys, so only the hash is kept. */
function fingerprint(options: HostsOptions, plan: HostPlan): string {
  const parts = [plan.services, options.addresses, hostVariables(options.env)];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Stops hosts by name and forgets them. */
export async function stopHosts(options: HostsOptions, names: readonly string[]): Promise<void> {
  const { stateDir } = options.settings;
  const lock = { path: stackLockPath(stateDir), purpose: 'stop hosts', report: options.report };
  if (names.length === 0) return;
  await withLock(lock, async () => {
    const book = await StackBook.open(stateDir);
    const records = names.map((name) => book.find(name)).filter((one) => one !== undefined);
    await Promise.all(records.map((record) => stopProcess(record, stopMs)));
    for (const record of records) await book.drop(record.name);
  });
}

/** Brings these hosts up and waits for them. Throws what a host says that ended it, or HOST_NOT_READY. */
export async function startHosts(
  options: HostsOptions,
  plans: readonly HostPlan[],
): Promise<readonly HostState[]> {
  const { stateDir } = options.settings;
  const startMs = performance.now();
  const memory = await readMemory(stateDir);
  const states: HostState[] = [];
  const watched: Watched[] = [];
  for (const plan of plans) {
    const launched = await launch(options, plan, memory);
    states.push(launched.state);
    watched.push(launched);
  }
  await writeJsonAtomic(memoryPath(stateDir), remembered(options, plans, states));
  await untilReady(options, watched);
  await writeJsonAtomic(memoryPath(stateDir), remembered(options, plans, states, true));
  const kept = states.every((one) => one.state === 'kept');
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
  const what = plans.length === 1 ? `pid ${states[0]?.pid}` : `${plans.length} processes`;
  const detail = kept ? what : `${what} (${seconds} s)`;
  options.report({ kind: 'step', name: 'services', state: kept ? 'kept' : 'ready', detail });
  return states;
}

function remembered(
  options: HostsOptions,
  plans: readonly HostPlan[],
  states: readonly HostState[],
  ready = false,
): HostMemory {
  const pairs = plans.map((plan, index) => {
    const pid = states[index]?.pid ?? 0;
    return [plan.name, { pid, settings: fingerprint(options, plan), ready }] as const;
  });
  return Object.fromEntries(pairs);
}

interface Watched {
  readonly state: HostState;
  readonly record: ProcessRecord;
  /** Where in the log the words of this process begin. */
  readonly fromByte: number;
  readonly ready: boolean;
}

async function launch(options: HostsOptions, plan: HostPlan, memory: HostMemory): Promise<Watched> {
  const { settings, report, env } = options;
  const book = await StackBook.open(settings.stateDir);
  const before = book.find(plan.name);
  const known = memory[plan.name];
  const alive = before !== undefined && (await isAlive(before));
  const current = known?.pid === before?.pid && known?.settings === fingerprint(options, plan);
  if (alive && !current) await stopHosts(options, [plan.name]);
  const fromByte = alive && current ? 0 : await sizeOf(logFileOf(settings, plan.name));
  const record = await startRecorded({
    settings,
    report,
    name: plan.name,
    command: process.execPath,
    args: [join(packageRoot, 'dist/services/console/cli/main.js'), 'start', ...plan.services],
    env,
    cwd: packageRoot,
  });
  const kept = record.pid === before?.pid;
  const state = kept ? 'kept' : before === undefined ? 'started' : 'restarted';
  if (!kept) report({ kind: 'step', name: 'services', state: 'starting', detail: plan.name });
  const { name, pid, logFile } = record;
  const ready = kept && known?.pid === pid && known.ready;
  return { state: { name, pid, state, logFile }, record, fromByte, ready };
}

const logFileOf = (settings: LocalSettings, name: string): string =>
  `${settings.stateDir}/logs/${name}.log`;

async function sizeOf(path: string): Promise<number> {
  // A log that is not there yet has no bytes.
  const found = await stat(path).catch(() => undefined);
  return found?.size ?? 0;
}

async function untilReady(options: HostsOptions, hosts: readonly Watched[]): Promise<void> {
  const startMs = performance.now();
  let waiting = hosts.filter((host) => !host.ready);
  let told = '';
  while (waiting.length > 0) {
    const seen = await Promise.all(waiting.map(look));
    const late = performance.now() - startMs > readyMs;
    const note = seen.find((news) => news.waiting !== undefined)?.waiting;
    if (note !== undefined && note !== told) options.report({ kind: 'note', text: note });
    told = note ?? told;
    const before = waiting.length;
    waiting = waiting.filter((_, index) => seen[index]?.ready !== true);
    if (late && waiting[0] !== undefined) throw notReady(waiting[0], note);
    if (waiting.length > 0 && waiting.length < before) sayHowMany(options, hosts, waiting);
    if (waiting.length > 0) await sleep(pollMs);
  }
}

function sayHowMany(
  options: HostsOptions,
  hosts: readonly Watched[],
  waiting: readonly Watched[],
): void {
  const detail = `${hosts.length - waiting.length} of ${hosts.length} ready`;
  options.report({ kind: 'step', name: 'services', state: 'starting', detail });
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
    throw new LongreinError(code, `host ${host.state.name} ended: ${message}`, {
      fix: [fix, where].filter(Boolean).join(' '),
    });
  }
  const lines = await lastLines(host.record.logFile, 5);
  const text = `host ${host.state.name} ended while it started.\n${lines.join('\n')}`;
  throw new LongreinError('HOST_ENDED', text, { fix: where });
}

function notReady({ record }: Watched, note: string | undefined): LongreinError {
  const text = `host ${record.name} is not ready after ${readyMs / 1_000} s`;
  return new LongreinError('HOST_NOT_READY', note === undefined ? text : `${text}: ${note}`, {
    fix: `Read ${record.logFile}; \`longrein doctor\` looks at what it needs.`,
    retryable: true,
  });
}
