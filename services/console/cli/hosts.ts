/**
 * Hosts as processes of the local stack: starts what is missing, starts again what died or was
 * started with other settings, and waits until each says that it is ready or why it cannot be.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalSettings } from '../../../deploy/local/config.ts';
import { withLock } from '../../../deploy/local/lock.ts';
import { isAlive, type ProcessRecord, stopProcess } from '../../../deploy/local/processes.ts';
import type { Report } from '../../../deploy/local/report.ts';
import { startRecorded } from '../../../deploy/local/stack.ts';
import { StackBook } from '../../../deploy/local/stack-file.ts';
import { stackLockPath } from '../../../deploy/local/state-dir.ts';
import { packageRoot } from '../../chassis/config/package-root.ts';
import {
  fingerprint,
  type HostMemory,
  type HostSettings,
  readMemory,
  writeMemory,
} from './host-memory.ts';
import type { HostPlan } from './host-plan.ts';
import { untilReady, type Watched } from './host-wait.ts';

export interface HostsOptions extends HostSettings {
  readonly settings: LocalSettings;
  readonly report: Report;
}

export interface HostState {
  readonly name: string;
  readonly pid: number;
  readonly state: 'started' | 'restarted' | 'kept';
  readonly logFile: string;
}

const stopMs = 20_000;

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

/** Brings these hosts up and waits for them. Throws as `untilReady`, and PROCESS_START. */
export async function startHosts(
  options: HostsOptions,
  plans: readonly HostPlan[],
): Promise<readonly HostState[]> {
  const { stateDir } = options.settings;
  const startMs = performance.now();
  const memory = await readMemory(stateDir);
  const known = (await StackBook.open(stateDir)).file.processes;
  const recordOf = (plan: HostPlan): ProcessRecord | undefined =>
    known.find((record) => record.name === plan.name);
  const running = await runningNames(options, plans, { memory, recordOf });
  const started = plans.filter((plan) => !running.includes(plan.name));
  await stopHosts(options, namesOf(started));
  if (started.length > 0) sayStarting(options, started);
  const watched: (Watched & { state: HostState })[] = [];
  for (const plan of plans) {
    const before = recordOf(plan);
    const kept = running.includes(plan.name);
    const ready = kept && memory[plan.name]?.ready === true;
    watched.push(await launch(options, plan, { before, kept, ready }));
  }
  const states = watched.map((one) => one.state);
  await writeMemory(stateDir, remembered(options, plans, { states, ready: false }));
  await untilReady(options.report, watched);
  await writeMemory(stateDir, remembered(options, plans, { states, ready: true }));
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
  marks: { states: readonly HostState[]; ready: boolean },
): HostMemory {
  const pairs = plans.map((plan, index) => {
    const pid = marks.states[index]?.pid ?? 0;
    return [plan.name, { pid, settings: fingerprint(options, plan), ready: marks.ready }] as const;
  });
  return Object.fromEntries(pairs);
}

interface Known {
  readonly memory: HostMemory;
  recordOf(plan: HostPlan): ProcessRecord | undefined;
}

/** Hosts that live and were started with what they would be started with now. */
async function runningNames(
  options: HostsOptions,
  plans: readonly HostPlan[],
  { memory, recordOf }: Known,
): Promise<readonly string[]> {
  const alive = await Promise.all(
    plans.map(async (plan) => {
      const record = recordOf(plan);
      const known = memory[plan.name];
      if (record === undefined || known?.pid !== record.pid) return false;
      return known.settings === fingerprint(options, plan) && (await isAlive(record));
    }),
  );
  return namesOf(plans.filter((_, index) => alive[index]));
}

const namesOf = (plans: readonly HostPlan[]): readonly string[] => plans.map((plan) => plan.name);

function sayStarting({ report }: HostsOptions, plans: readonly HostPlan[]): void {
  const detail = plans.length === 1 ? '1 process' : `${plans.length} processes`;
  report({ kind: 'step', name: 'services', state: 'starting', detail });
}

async function launch(
  options: HostsOptions,
  plan: HostPlan,
  was: { before: ProcessRecord | undefined; kept: boolean; ready: boolean },
): Promise<Watched & { state: HostState }> {
  const { settings, report, env } = options;
  const { before, kept, ready } = was;
  const fromByte = kept ? 0 : await sizeOf(logFileOf(settings, plan.name));
  const record = await startRecorded({
    settings,
    report,
    name: plan.name,
    command: process.execPath,
    args: [join(packageRoot, 'dist/services/console/cli/main.js'), 'start', ...plan.services],
    env,
    cwd: packageRoot,
  });
  const { name, pid, logFile } = record;
  const state = kept ? 'kept' : before === undefined ? 'started' : 'restarted';
  return { state: { name, pid, state, logFile }, record, fromByte, ready };
}

const logFileOf = (settings: LocalSettings, name: string): string =>
  `${settings.stateDir}/logs/${name}.log`;

async function sizeOf(path: string): Promise<number> {
  // A log that is not there yet has no bytes.
  const found = await stat(path).catch(() => undefined);
  return found?.size ?? 0;
}
