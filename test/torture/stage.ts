import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  clickhouseReady,
  clickhouseUrl,
  launchClickhouse,
} from '../../deploy/local/clickhouse-process.ts';
import { type LocalSettings, readSettings } from '../../deploy/local/config.ts';
import { freePorts } from '../../deploy/local/ports.ts';
import type { ProcessRecord } from '../../deploy/local/processes.ts';
import { launchRegistry, registryReady, registryUrl } from '../../deploy/local/registry.ts';
import { BrokerCluster, findJavaTools, type JavaTools } from './broker-cluster.ts';
import { HostProcess } from './host-process.ts';
import { ProcessBook } from './process-book.ts';

export type StageOptions = Readonly<{
  /** Everything of the run is kept here: data, logs, what the tools wrote. */
  dir: string;
  brokers?: number;
  partitions?: number;
  sessionTimeoutMs?: number;
  clickhouse?: boolean;
  /** Catalog directories. */
  catalog: readonly string[];
  /** A rule of DESIGN 3 that the hosts go without. */
  ablate?: string;
}>;

export const replicationOf = (brokers: number): number => Math.min(3, brokers);

/** Brokers, registry, event store and hosts of one run, each a process of its own that can be killed and comes back. */
export class Stage {
  readonly dir: string;
  readonly book: ProcessBook;
  readonly cluster: BrokerCluster;
  readonly blobDir: string;
  private readonly options: StageOptions;
  private readonly settings: LocalSettings;
  private readonly tools: JavaTools;
  private readonly ports: Readonly<{ registry: number; clickhouse: number }>;
  private registry: ProcessRecord | undefined;
  private clickhouse: ProcessRecord | undefined;
  private hosts = 0;

  private constructor(
    options: StageOptions,
    parts: Pick<Stage, 'book' | 'cluster'> &
      Readonly<{ settings: LocalSettings; tools: JavaTools; ports: [number, number] }>,
  ) {
    this.options = options;
    this.dir = options.dir;
    this.blobDir = join(options.dir, 'blobs');
    this.book = parts.book;
    this.cluster = parts.cluster;
    this.settings = parts.settings;
    this.tools = parts.tools;
    this.ports = { registry: parts.ports[0], clickhouse: parts.ports[1] };
  }

  static async open(options: StageOptions): Promise<Stage> {
    mkdirSync(join(options.dir, 'blobs'), { recursive: true });
    const given = { LONGREIN_BROKERS: '', LONGREIN_REGISTRY_URL: '', LONGREIN_CLICKHOUSE_URL: '' };
    const own = { ...process.env, ...given, LONGREIN_STATE_DIR: options.dir };
    const settings = readSettings(own);
    const book = new ProcessBook(options.dir);
    const tools = await findJavaTools(settings);
    const cluster = await BrokerCluster.start({ settings, book, tools }, options.brokers ?? 3);
    const [registry = 0, clickhouse = 0] = await freePorts([undefined, undefined]);
    const stage = new Stage(options, {
      book,
      cluster,
      settings,
      tools,
      ports: [registry, clickhouse],
    });
    await Promise.all([
      stage.startRegistry(),
      options.clickhouse === false ? undefined : stage.startClickhouse(),
    ]);
    return stage;
  }

  get registryUrl(): string {
    return registryUrl({ port: this.ports.registry } as ProcessRecord);
  }

  get clickhouseUrl(): string {
    return clickhouseUrl({ port: this.ports.clickhouse } as ProcessRecord);
  }

  async startRegistry(): Promise<void> {
    this.registry = this.book.note(
      await launchRegistry({
        settings: this.settings,
        java: this.tools.java,
        jar: this.tools.artifacts.registryJar,
        port: this.ports.registry,
        brokers: this.cluster.inside,
        fresh: false,
      }),
    );
    await registryReady(this.registry);
  }

  async killRegistry(): Promise<void> {
    if (this.registry !== undefined) await this.book.kill(this.registry);
  }

  async startClickhouse(): Promise<void> {
    const record = await launchClickhouse(this.settings, this.ports.clickhouse);
    this.clickhouse = this.book.note(record);
    await clickhouseReady(record);
  }

  async killClickhouse(): Promise<void> {
    if (this.clickhouse !== undefined) await this.book.kill(this.clickhouse);
  }

  /** Starts a host of these services; it may not be ready yet. `ablate`: a rule that this one goes without. */
  startHost(
    services: readonly string[],
    ablate: string | undefined = this.options.ablate,
  ): Promise<HostProcess> {
    this.hosts += 1;
    const name = `host-${this.hosts}`;
    const env = this.environment(name, ablate);
    return HostProcess.start({ name, services, book: this.book, env });
  }

  async close(): Promise<void> {
    await this.book.endAll();
    await this.cluster.close();
  }

  private environment(host: string, ablate: string | undefined): Record<string, string> {
    const { partitions, sessionTimeoutMs, catalog } = this.options;
    const clickhouse = this.options.clickhouse !== false;
    return {
      LONGREIN_BROKERS: this.cluster.outside.join(','),
      LONGREIN_REGISTRY_URL: this.registryUrl,
      ...(clickhouse ? { LONGREIN_CLICKHOUSE_URL: this.clickhouseUrl } : {}),
      LONGREIN_BLOB_DIR: this.blobDir,
      LONGREIN_STATE_DIR: join(this.dir, 'hosts', host),
      LONGREIN_CATALOG: catalog.join(','),
      // Where the counting tools write.
      LONGREIN_WORKSPACE: this.dir,
      LONGREIN_PARTITIONS: String(partitions ?? 12),
      LONGREIN_REPLICATION: String(replicationOf(this.cluster.ids.length)),
      LONGREIN_SESSION_TIMEOUT_MS: String(sessionTimeoutMs ?? 6_000),
      LONGREIN_HOUSEKEEPING_MS: '1000',
      ...(ablate === undefined ? {} : { LONGREIN_ABLATE: ablate }),
    };
  }
}
