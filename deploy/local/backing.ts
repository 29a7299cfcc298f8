/**
 * Starts broker, registry and ClickHouse where none is given, keeps those that run, and starts
 * again those that died. Broker and registry start at the same time: the registry waits for the
 * broker by itself.
 */
import { LongreinError } from '../../services/chassis/errors.ts';
import { ensureArtifacts } from './artifacts.ts';
import { brokerAddress, brokerReady, launchBroker } from './broker.ts';
import { clickhouseReady, clickhouseUrl, launchClickhouse } from './clickhouse-process.ts';
import { clickhouseToken, withToken } from './clickhouse-token.ts';
import type { LocalSettings } from './config.ts';
import { findJava } from './java.ts';
import { freePorts } from './ports.ts';
import { withoutCredentials } from './probes.ts';
import { isAlive, type ProcessRecord, stopProcess } from './processes.ts';
import { launchRegistry, registryReady, registryUrl } from './registry.ts';
import type { Report } from './report.ts';
import type { StackBook } from './stack-file.ts';
import { readPorts, rememberPorts } from './state-dir.ts';

export interface BackingOptions {
  readonly settings: LocalSettings;
  readonly book: StackBook;
  readonly report: Report;
  /** Names of the processes that this call started, to be stopped if it fails. */
  readonly launched: Set<string>;
}

interface Service {
  readonly name: string;
  /** The port that clients use, then others of its own; all are remembered for the next start. */
  readonly ports: readonly [string, ...string[]];
  /** What may take minutes, done before ports are chosen. */
  readonly prepare: () => Promise<unknown>;
  readonly launch: (ports: readonly number[], fresh: boolean) => Promise<ProcessRecord>;
  readonly ready: (record: ProcessRecord) => Promise<void>;
  readonly address: (record: ProcessRecord) => string;
}

/** Starts what is missing of broker and registry and notes their addresses. */
export async function startLogSide(options: BackingOptions): Promise<void> {
  await withSecondTry(options, ['broker', 'registry'], (fresh) => startPair(options, fresh));
}

/** Starts the embedded engine if none is given and it does not run, and notes its address. */
export async function startClickhouse(options: BackingOptions): Promise<void> {
  const { settings, book } = options;
  if (settings.clickhouseUrl !== undefined) {
    return book.address({ clickhouseUrl: withoutCredentials(settings.clickhouseUrl) });
  }
  const token = await clickhouseToken(settings);
  await withSecondTry(options, ['clickhouse'], async (fresh) => {
    const service = clickhouseService(settings, token);
    const { record, ready } = await launchOrKeep(options, service, fresh);
    await ready;
    await book.address({ clickhouseUrl: withToken(clickhouseUrl(record), token) });
  });
}

/**
 * A process that ends while it starts has lost its port to another program, or cannot use its class
 * archive: once more with other ports and new archives, then it is an error.
 */
async function withSecondTry(
  options: BackingOptions,
  names: readonly string[],
  start: (fresh: boolean) => Promise<void>,
): Promise<void> {
  try {
    await start(false);
  } catch (error) {
    if (!(error instanceof LongreinError && error.code === 'PROCESS_ENDED')) throw error;
    options.report({ kind: 'note', text: `${error.message}\nTrying once more on other ports.` });
    for (const name of names) if (options.launched.has(name)) await stopByName(options.book, name);
    await start(true);
  }
}

/** Stops a recorded process and forgets it. */
export async function stopByName(book: StackBook, name: string): Promise<void> {
  const record = book.find(name);
  if (record === undefined) return;
  await stopProcess(record, 20_000);
  await book.drop(name);
}

async function startPair(options: BackingOptions, fresh: boolean): Promise<void> {
  const { settings, book } = options;
  const before = book.file.brokers;
  const tools = lazyTools(options);
  const broker =
    settings.brokers === undefined
      ? await launchOrKeep(options, brokerService(settings, tools), fresh)
      : undefined;
  const brokers = settings.brokers ?? (broker ? [brokerAddress(broker.record)] : []);
  // A registry that runs was told the address that the broker had before.
  if (before.length > 0 && before.join() !== brokers.join()) await stopByName(book, 'registry');
  const registry =
    settings.registryUrl === undefined
      ? await launchOrKeep(options, registryService(settings, tools, brokers), fresh)
      : undefined;
  await Promise.all([broker?.ready, registry?.ready]);
  const url = registry ? registryUrl(registry.record) : (settings.registryUrl ?? '');
  await book.address({ brokers, registryUrl: withoutCredentials(url) });
}

type Tools = () => Promise<{
  readonly java: Awaited<ReturnType<typeof findJava>>;
  readonly artifacts: Awaited<ReturnType<typeof ensureArtifacts>>;
}>;

/** Java and jars are looked for only when something has to be launched, and once. */
function lazyTools(options: BackingOptions): Tools {
  let found: ReturnType<Tools> | undefined;
  const find: Tools = async () => {
    // Java first: without it, 150 MB of downloads would be for nothing.
    const java = await findJava(options.settings, options.report);
    return { java, artifacts: await ensureArtifacts(options.settings, options.report) };
  };
  return () => {
    found ??= find();
    return found;
  };
}

function brokerService(settings: LocalSettings, tools: Tools): Service {
  return {
    name: 'broker',
    ports: ['broker', 'controller'],
    prepare: tools,
    launch: async ([brokerPort = 0, controllerPort = 0], fresh) => {
      const { java, artifacts } = await tools();
      const jars = artifacts.kafkaJars;
      return launchBroker({ settings, java, jars, brokerPort, controllerPort, fresh });
    },
    ready: brokerReady,
    address: brokerAddress,
  };
}

function registryService(
  settings: LocalSettings,
  tools: Tools,
  brokers: readonly string[],
): Service {
  return {
    name: 'registry',
    ports: ['registry'],
    prepare: tools,
    launch: async ([port = 0], fresh) => {
      const { java, artifacts } = await tools();
      return launchRegistry({ settings, java, jar: artifacts.registryJar, port, brokers, fresh });
    },
    ready: registryReady,
    address: registryUrl,
  };
}

function clickhouseService(settings: LocalSettings, token: string): Service {
  return {
    name: 'clickhouse',
    ports: ['clickhouse'],
    prepare: () => Promise.resolve(),
    launch: ([port = 0]) => launchClickhouse(settings, port, token),
    ready: clickhouseReady,
    address: clickhouseUrl,
  };
}

interface Launched {
  readonly record: ProcessRecord;
  /** Settles when it answers, or cannot. */
  readonly ready: Promise<void>;
}

async function launchOrKeep(
  options: BackingOptions,
  service: Service,
  fresh: boolean,
): Promise<Launched> {
  const { book, report } = options;
  const running = book.find(service.name);
  const kept = running !== undefined && (await isAlive(running));
  const record = kept ? running : await launch(options, service, fresh);
  const startMs = performance.now();
  const ready = service.ready(record).then(() => {
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
    const detail = kept ? service.address(record) : `${service.address(record)} (${seconds} s)`;
    report({ kind: 'step', name: service.name, state: kept ? 'kept' : 'ready', detail });
  });
  // Whoever launches two of them looks at this only later; it must not count as unhandled until
  // then.
  ready.catch(() => undefined);
  return { record, ready };
}

async function launch(
  options: BackingOptions,
  service: Service,
  fresh: boolean,
): Promise<ProcessRecord> {
  const { settings, book, report, launched } = options;
  await service.prepare();
  const known = fresh ? {} : await readPorts(settings.stateDir);
  const ports = await freePorts(service.ports.map((name) => known[name]));
  const detail = `port ${ports[0]}`;
  report({ kind: 'step', name: service.name, state: 'starting', detail });
  const record = await service.launch(ports, fresh);
  launched.add(service.name);
  await book.put(record);
  const named = service.ports.map((name, index) => [name, ports[index] ?? 0] as const);
  await rememberPorts(settings.stateDir, Object.fromEntries(named));
  return record;
}
