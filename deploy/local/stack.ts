/**
 * The local stack as a whole: up, down, status, and the record of other processes beside the
 * backing services. One command at a time per state directory; `up` again is harmless; `down` stops
 * what is recorded, no more.
 */
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { type BackingOptions, startClickhouse, startLogSide, stopByName } from './backing.ts';
import { type LocalSettings, readSettings } from './config.ts';
import { sweepContainers } from './container-files.ts';
import { withLock } from './lock.ts';
import {
  type BrokerAccess,
  type ProbeResult,
  probeBrokers,
  probeClickhouse,
  probeRegistry,
  withoutCredentials,
} from './probes.ts';
import {
  isAlive,
  type ProcessRecord,
  type StartOptions,
  startDetached,
  stopProcess,
} from './processes.ts';
import { type Report, silent } from './report.ts';
import { readStack, StackBook, type StackFile } from './stack-file.ts';
import { claimStateDir, removeIfEmpty, stackLockPath, wipeStateDir } from './state-dir.ts';

export interface StackOptions {
  /** Read from the environment if not given. */
  readonly settings?: LocalSettings;
  /** Encryption and login of given brokers. */
  readonly brokerAccess?: BrokerAccess;
}

export interface UpOptions extends StackOptions {
  /** Without ClickHouse if false. */
  readonly clickhouse?: boolean;
}

export interface DownOptions extends StackOptions {
  /** Removes the data of the stack too. Data in given brokers and ClickHouse is never touched. */
  readonly wipe?: boolean;
}

export interface DownResult {
  readonly stopped: readonly string[];
  readonly wiped: boolean;
}

/**
 * Starts what is missing and waits until all of it answers. A given address that does not answer is
 * told within 6 s, before anything starts. If it fails, what this call started is stopped again.
 */
export async function up(options: UpOptions, report: Report): Promise<StackFile> {
  const settings = options.settings ?? readSettings();
  await checkGiven(settings, options, report);
  await claimStateDir(settings.stateDir);
  const lock = { path: stackLockPath(settings.stateDir), purpose: 'up', report };
  return await withLock(lock, async () => {
    const book = await StackBook.open(settings.stateDir);
    await startAll({ settings, book, report, launched: new Set() }, options.clickhouse ?? true);
    return book.file;
  });
}

/** Stops what is recorded: services first, then ClickHouse and registry, the broker last. */
export async function down(options: DownOptions, report: Report): Promise<DownResult> {
  const settings = options.settings ?? readSettings();
  const { stateDir } = settings;
  const wiped = options.wipe ?? false;
  const lock = { path: stackLockPath(stateDir), purpose: 'down', report };
  const result = await withLock(lock, async () => {
    const stopped = await stopAll(settings, report);
    if (wiped) await wipeStateDir(stateDir);
    return { stopped, wiped };
  });
  await removeIfEmpty(stateDir);
  return result;
}

export interface ServiceStatus extends ProbeResult {
  readonly address: string;
}

export interface StackStatus {
  readonly stateDir: string;
  /** Whether there is a stack file: `up` was called and `down` was not. */
  readonly up: boolean;
  readonly brokers: ServiceStatus | undefined;
  readonly registry: ServiceStatus | undefined;
  readonly clickhouse: ServiceStatus | undefined;
  readonly processes: readonly (ProcessRecord & { readonly alive: boolean })[];
}

/** Looks at every address and process of the stack. Ends within 6 s. */
export async function status(options: StackOptions): Promise<StackStatus> {
  const settings = options.settings ?? readSettings();
  const stack = await readStack(settings.stateDir);
  const brokers = settings.brokers ?? stack?.brokers ?? [];
  const registryUrl = settings.registryUrl ?? stack?.registryUrl ?? undefined;
  const clickhouseUrl = settings.clickhouseUrl ?? stack?.clickhouseUrl ?? undefined;
  const [broker, registry, clickhouse] = await Promise.all([
    brokers.length === 0 ? undefined : probeBrokers(brokers, options.brokerAccess),
    registryUrl && probeRegistry(registryUrl),
    clickhouseUrl && probeClickhouse(clickhouseUrl),
  ]);
  const records = stack?.processes ?? [];
  const alive = await Promise.all(records.map(isAlive));
  return {
    stateDir: settings.stateDir,
    up: stack !== undefined,
    brokers: broker && { address: brokers.join(','), ...broker },
    registry: registry
      ? { address: withoutCredentials(registryUrl ?? ''), ...registry }
      : undefined,
    clickhouse: clickhouse
      ? { address: withoutCredentials(clickhouseUrl ?? ''), ...clickhouse }
      : undefined,
    processes: records.map((record, index) => ({ ...record, alive: alive[index] ?? false })),
  };
}

export interface RecordedOptions extends StackOptions, Omit<StartOptions, 'logFile'> {
  readonly report?: Report;
}

/**
 * Starts a process of the stack beside the backing services (a host), with its log in
 * `<stateDir>/logs`, and records it, so that `down` stops it. If one of that name runs, that one is
 * returned. Throws PROCESS_START.
 */
export async function startRecorded(options: RecordedOptions): Promise<ProcessRecord> {
  const { stateDir } = options.settings ?? readSettings();
  const report = options.report ?? silent;
  await claimStateDir(stateDir);
  const lock = { path: stackLockPath(stateDir), purpose: `start ${options.name}`, report };
  return await withLock(lock, async () => {
    const book = await StackBook.open(stateDir);
    const running = book.find(options.name);
    if (running && (await isAlive(running))) return running;
    const logFile = `${stateDir}/logs/${options.name}.log`;
    const record = await startDetached({ ...options, logFile });
    await book.put(record);
    return record;
  });
}

async function checkGiven(
  settings: LocalSettings,
  options: UpOptions,
  report: Report,
): Promise<void> {
  const { brokers, registryUrl } = settings;
  const { ssl, sasl } = options.brokerAccess ?? {};
  if (brokers && !registryUrl && (ssl || sasl)) throw registryNeeded();
  const clickhouseUrl = options.clickhouse === false ? undefined : settings.clickhouseUrl;
  const looks = [
    brokers && given('broker', brokers.join(','), probeBrokers(brokers, options.brokerAccess)),
    registryUrl && given('registry', registryUrl, probeRegistry(registryUrl)),
    clickhouseUrl && given('clickhouse', clickhouseUrl, probeClickhouse(clickhouseUrl)),
  ];
  for (const look of await Promise.all(looks)) {
    if (look) report({ kind: 'step', ...look });
  }
}

/** Our registry keeps its schemas in the brokers, and is not given their login. */
function registryNeeded(): LongreinError {
  return new LongreinError('REGISTRY_NEEDED', 'the given brokers ask for encryption or a login', {
    fix: 'Set LONGREIN_REGISTRY_URL to a schema registry too, with the path of its Confluent API.',
  });
}

const variables = {
  broker: 'LONGREIN_BROKERS',
  registry: 'LONGREIN_REGISTRY_URL',
  clickhouse: 'LONGREIN_CLICKHOUSE_URL',
} as const;

async function given(name: keyof typeof variables, address: string, look: Promise<ProbeResult>) {
  const result = await look;
  if (!result.ok) {
    const text = `${name} given by ${variables[name]} is not reachable: ${result.reason}`;
    throw new LongreinError('UNREACHABLE', text, {
      fix: `Start it or correct ${variables[name]}; unset it to let Longrein start its own.`,
      retryable: true,
    });
  }
  return { name, state: 'given', detail: withoutCredentials(address) } as const;
}

async function startAll(options: BackingOptions, clickhouse: boolean): Promise<void> {
  const starts = [startLogSide(options), clickhouse ? startClickhouse(options) : undefined];
  const results = await Promise.allSettled(starts);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return;
  for (const name of [...options.launched].reverse()) await stopByName(options.book, name);
  if (options.book.file.processes.length === 0) await options.book.close();
  throw toError(failed.reason);
}

/** A host may have work to hand over, and ClickHouse ends its queries. */
const deadlineMs = 20_000;
const clickhouseDeadlineMs = 40_000;
/** For a JVM that writes its class archive, on a busy machine. */
const archiveDeadlineMs = 90_000;

function deadlineOf(record: ProcessRecord): number {
  if (record.leaves) return archiveDeadlineMs;
  return record.name === 'clickhouse' ? clickhouseDeadlineMs : deadlineMs;
}

async function stopAll(settings: LocalSettings, report: Report): Promise<string[]> {
  const { stateDir, environment } = settings;
  const book = await StackBook.open(stateDir);
  const recordedIds = new Set(book.file.processes.map(({ container }) => container?.id ?? ''));
  const backing = ['clickhouse', 'registry', 'broker'];
  const hosts = book.file.processes
    .map(({ name }) => name)
    .filter((name) => !backing.includes(name));
  const stopped: string[] = [];
  const stop = async (name: string): Promise<void> => {
    if (await stopOne(book, name, report)) stopped.push(name);
  };
  await Promise.all(hosts.map(stop));
  const beside = Promise.all([stop('clickhouse'), stop('registry')]);
  // The registry lets go of the broker at once; what it may do for longer is write its class
  // archive.
  await Promise.race([beside, new Promise((resolve) => setTimeout(resolve, 1_000))]);
  await stop('broker');
  await beside;
  const swept = await sweepContainers({
    stateDir,
    environment,
    recordedIds,
    deadlineMs,
    report,
  });
  await book.close();
  return [...stopped, ...swept];
}

async function stopOne(book: StackBook, name: string, report: Report): Promise<boolean> {
  const record = book.find(name);
  if (record === undefined) return false;
  const detail = record.leaves
    ? `pid ${record.pid}, writes its class archive once`
    : `pid ${record.pid}`;
  report({ kind: 'step', name, state: 'stopping', detail });
  const state = await stopProcess(record, deadlineOf(record));
  report({ kind: 'step', name, state, detail: `pid ${record.pid}` });
  await book.drop(name);
  return state !== 'gone';
}
