/**
 * The schema registry (Apicurio) that keeps its schemas in the local broker, so it has no data of
 * its own. May be started together with the broker: it waits for it.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { classData } from './class-data.ts';
import type { LocalSettings } from './config.ts';
import type { JavaRuntime } from './java-runtime.ts';
import { startJvm } from './jvm.ts';
import { loopback } from './ports.ts';
import { probeRegistry } from './probes.ts';
import type { ProcessRecord } from './processes.ts';
import { waitUntilReady } from './readiness.ts';

export interface RegistryOptions {
  readonly settings: LocalSettings;
  readonly java: JavaRuntime;
  readonly jar: string;
  readonly port: number;
  readonly brokers: readonly string[];
  /** Not with an old class archive. */
  readonly fresh: boolean;
}

const flags = [
  '-Xms32m',
  '-Xmx160m',
  '-Xss512k',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Djava.awt.headless=true',
];

/** Starts the registry. Throws PROCESS_START. */
export async function launchRegistry(options: RegistryOptions): Promise<ProcessRecord> {
  const { settings, java, jar } = options;
  // It writes snapshots of its tables into its working directory.
  const dir = join(settings.stateDir, 'registry');
  await mkdir(dir, { recursive: true });
  if (settings.brokers !== undefined) await createJournal(settings.brokers);
  const archive = classData({
    name: 'registry',
    cacheDir: settings.cacheDir,
    java,
    jars: [jar],
    fresh: options.fresh,
  });
  return await startJvm({
    settings,
    java,
    name: 'registry',
    dir,
    writable: archive.leaves === undefined ? [] : [archive.dir],
    args: [...archive.flags, ...flags, '-jar', jar],
    env: registryEnvironment(options),
    port: options.port,
    leaves: archive.leaves,
  });
}

/** Waits until the registry answers. Throws PROCESS_ENDED or NOT_READY. */
export async function registryReady(record: ProcessRecord): Promise<void> {
  const url = registryUrl(record);
  await waitUntilReady({ record, probe: () => probeRegistry(url), deadlineMs: 90_000 });
}

/** Address of the Confluent API of a registry that was launched here. */
export function registryUrl(record: ProcessRecord): string {
  return `http://${loopback}:${record.port}/apis/ccompat/v7`;
}

/**
 * On brokers that are not ours topics may expire by default, and with the journal all schemas would
 * go.
 */
async function createJournal(brokers: readonly string[]): Promise<void> {
  const options = {
    clientId: 'longrein-registry',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
  };
  const admin = new Kafka(options).admin();
  const configEntries = [
    { name: 'retention.ms', value: '-1' },
    { name: 'cleanup.policy', value: 'delete' },
  ];
  await admin.connect();
  try {
    await admin.createTopics({
      topics: [{ topic: 'kafkasql-journal', numPartitions: 1, configEntries }],
    });
  } finally {
    await admin.disconnect();
  }
}

function registryEnvironment(options: RegistryOptions): Record<string, string> {
  return {
    QUARKUS_HTTP_HOST: loopback,
    QUARKUS_HTTP_PORT: String(options.port),
    QUARKUS_HTTP_ACCESS_LOG_ENABLED: 'false',
    APICURIO_STORAGE_KIND: 'kafkasql',
    APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: options.brokers.join(','),
    // 5 s by default, of which a start waits one.
    APICURIO_KAFKASQL_CONSUMER_POLL_TIMEOUT: '100',
  };
}
