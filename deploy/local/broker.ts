/**
 * One Kafka broker (KRaft, broker and controller in one) from its jars, data under
 * `<stateDir>/kafka`. Formats the data directory once, in one step; starts the process and knows
 * when it is ready.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { LongreinError } from '../../services/chassis/errors.ts';
import { type BrokerNode, brokerProperties } from './broker-properties.ts';
import { type ClassData, classData } from './class-data.ts';
import { type LocalSettings, packageRoot } from './config.ts';
import type { JavaRuntime } from './java-runtime.ts';
import { runJvm, startJvm } from './jvm.ts';
import { loopback } from './ports.ts';
import { probeBrokers } from './probes.ts';
import type { ProcessRecord } from './processes.ts';
import { waitUntilReady } from './readiness.ts';

export interface BrokerOptions {
  readonly settings: LocalSettings;
  readonly java: JavaRuntime;
  readonly jars: readonly string[];
  readonly brokerPort: number;
  readonly controllerPort: number;
  /** Not with an old class archive. */
  readonly fresh: boolean;
  /** Name of process, log and archive; `broker` if not given. */
  readonly name?: string;
}

// A small heap and a compiler that stops early: half the memory and a quicker start, and the log is
// the operating system's cache anyway.
const flags = [
  '-Xms96m',
  '-Xmx256m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Djava.awt.headless=true',
  '-Dlog4j2.configurationFile=log4j2.xml',
  '-Dkafka.logs.dir=.',
];

/**
 * Starts the broker; formats its directory first if it is new. Throws BROKER_FORMAT or
 * PROCESS_START.
 */
export async function launchBroker(options: BrokerOptions): Promise<ProcessRecord> {
  const { settings, java, jars } = options;
  const name = options.name ?? 'broker';
  const dir = join(settings.stateDir, name === 'broker' ? 'kafka' : name);
  const archive = classData({
    name: 'broker',
    cacheDir: settings.cacheDir,
    java,
    jars,
    fresh: options.fresh,
  });
  await mkdir(dir, { recursive: true });
  await copyFile(join(packageRoot(), 'deploy', 'local', 'log4j2.xml'), join(dir, 'log4j2.xml'));
  await writeProperties(options, dir, 'data');
  if (!existsSync(join(dir, 'data', 'meta.properties'))) await format(options, dir, archive);
  return await startJvm({
    settings,
    java,
    name,
    dir,
    writable: archive.leaves === undefined ? [] : [archive.dir],
    args: [...archive.flags, ...jvmArguments(jars), 'kafka.Kafka', 'data.properties'],
    port: options.brokerPort,
    leaves: archive.leaves,
  });
}

/** Waits until the broker answers a client. Throws PROCESS_ENDED or NOT_READY. */
export async function brokerReady(record: ProcessRecord): Promise<void> {
  const address = brokerAddress(record);
  await waitUntilReady({ record, probe: () => probeBrokers([address]), deadlineMs: 60_000 });
}

/** `host:port` of a broker that was launched here. */
export function brokerAddress(record: ProcessRecord): string {
  return `${loopback}:${record.port}`;
}

/**
 * A cluster id as Kafka wants it: 16 bytes in base64url, not led by a dash, which reads as an
 * option.
 */
export function newClusterId(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? newClusterId() : id;
}

function jvmArguments(jars: readonly string[]): string[] {
  return [...flags, '-cp', jars.join(delimiter)];
}

async function writeProperties(
  options: BrokerOptions,
  dir: string,
  dataDir: string,
): Promise<void> {
  const { brokerPort, controllerPort } = options;
  const self: BrokerNode = { id: 1, brokerPort, controllerPort };
  const text = brokerProperties({ self, nodes: [self], dataDir });
  await writeFile(join(dir, `${dataDir}.properties`), text);
}

/**
 * Formats beside the final place and renames, so that an interrupted format is simply done again.
 */
async function format(options: BrokerOptions, dir: string, archive: ClassData): Promise<void> {
  const part = 'data-new';
  await rm(join(dir, part), { recursive: true, force: true });
  await writeProperties(options, dir, part);
  const archiveFlags = archive.leaves === undefined ? archive.flags : [];
  const tool = [
    'kafka.tools.StorageTool',
    'format',
    '-t',
    newClusterId(),
    '-c',
    `${part}.properties`,
  ];
  const args = [...archiveFlags, ...jvmArguments(options.jars), ...tool];
  const { settings, java, name = 'broker' } = options;
  const result = await runJvm({ settings, java, name: `${name}-format`, dir, args }, 60_000);
  if (result.code !== 0) throw formatError(dir, result.output);
  await rename(join(dir, part), join(dir, 'data'));
  await rm(join(dir, `${part}.properties`), { force: true });
}

function formatError(dir: string, output: string): LongreinError {
  const reason = output.trim().split('\n').slice(-3).join(' ');
  return new LongreinError(
    'BROKER_FORMAT',
    `the broker's directory ${dir} cannot be prepared: ${reason}`,
    {
      fix:
        'Check that the directory is writable and the disk not full. ' +
        'If its data may go: longrein down --wipe.',
    },
  );
}
