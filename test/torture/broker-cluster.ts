import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { ensureArtifacts, type InstalledArtifacts } from '../../deploy/local/artifacts.ts';
import {
  brokerReady,
  type BrokerCluster as ClusterPlace,
  launchBroker,
  newClusterId,
} from '../../deploy/local/broker.ts';
import type { BrokerNode } from '../../deploy/local/broker-properties.ts';
import type { LocalSettings } from '../../deploy/local/config.ts';
import { findJava } from '../../deploy/local/java.ts';
import type { JavaRuntime } from '../../deploy/local/java-runtime.ts';
import { freePorts } from '../../deploy/local/ports.ts';
import { isAlive, type ProcessRecord } from '../../deploy/local/processes.ts';
import { silent } from '../../deploy/local/report.ts';
import { FaultProxy } from './fault-proxy.ts';
import type { ProcessBook } from './process-book.ts';

export type JavaTools = Readonly<{ java: JavaRuntime; artifacts: InstalledArtifacts }>;
type Node = BrokerNode & Required<Pick<BrokerNode, 'outside'>>;
type Parts = Readonly<{ settings: LocalSettings; book: ProcessBook; tools: JavaTools }>;

export async function findJavaTools(settings: LocalSettings): Promise<JavaTools> {
  const java = await findJava(settings, silent);
  return { java, artifacts: await ensureArtifacts(settings, silent) };
}

/**
 * Three brokers, each also a controller, each in a JVM of its own, with three copies of everything.
 * Services reach each of them by way of a proxy; the test itself goes straight.
 */
export class BrokerCluster {
  readonly proxies: ReadonlyMap<number, FaultProxy>;
  readonly ids: readonly number[];
  private readonly parts: Parts;
  private readonly nodes: readonly Node[];
  private readonly clusterId = newClusterId();
  private readonly records = new Map<number, ProcessRecord>();
  private admin: Admin | undefined;

  private constructor(
    parts: Parts,
    nodes: readonly Node[],
    proxies: ReadonlyMap<number, FaultProxy>,
  ) {
    this.parts = parts;
    this.nodes = nodes;
    this.proxies = proxies;
    this.ids = nodes.map(({ id }) => id);
  }

  static async start(parts: Parts, count = 3): Promise<BrokerCluster> {
    const ports = await freePorts(Array.from({ length: count * 4 }, () => undefined));
    const port = (index: number): number => ports[index] ?? 0;
    const nodes = Array.from({ length: count }, (_, index) => ({
      id: index + 1,
      brokerPort: port(index * 4),
      controllerPort: port(index * 4 + 1),
      outside: { port: port(index * 4 + 2), advertisedPort: port(index * 4 + 3) },
    }));
    const proxies = new Map<number, FaultProxy>();
    for (const { id, outside } of nodes)
      proxies.set(id, await FaultProxy.open(outside.advertisedPort, outside.port));
    const cluster = new BrokerCluster(parts, nodes, proxies);
    // Started together: a quorum needs two of them.
    await Promise.all(nodes.map((node) => cluster.launch(node)));
    await Promise.all(nodes.map(({ id }) => cluster.ready(id)));
    return cluster;
  }

  /** Where services find the brokers: through the proxies. */
  get outside(): readonly string[] {
    return this.nodes.map(({ outside }) => `127.0.0.1:${outside.advertisedPort}`);
  }

  /** Where registry and test find them. */
  get inside(): readonly string[] {
    return this.nodes.map(({ brokerPort }) => `127.0.0.1:${brokerPort}`);
  }

  async kill(id: number): Promise<void> {
    const record = this.records.get(id);
    if (record !== undefined) await this.parts.book.kill(record);
  }

  async restart(id: number): Promise<void> {
    const node = this.nodes.find((one) => one.id === id);
    if (node === undefined) throw new Error(`there is no broker ${id}`);
    await this.launch(node);
    await this.ready(id);
  }

  async allRun(): Promise<boolean> {
    const alive = await Promise.all([...this.records.values()].map(isAlive));
    return alive.every(Boolean);
  }

  /** Waits until every partition has all its copies in step: only then may the next broker go. */
  async inSync(withinMs: number): Promise<boolean> {
    const endMs = Date.now() + withinMs;
    for (;;) {
      if (await this.isInSync()) return true;
      if (Date.now() > endMs) return false;
      await sleep(300);
    }
  }

  async close(): Promise<void> {
    await this.admin?.disconnect();
    await Promise.all([...this.proxies.values()].map((proxy) => proxy.close()));
  }

  private async isInSync(): Promise<boolean> {
    try {
      const { topics } = await (await this.connected()).fetchTopicMetadata();
      return topics
        .flatMap(({ partitions }) => partitions)
        .every(({ isr, replicas, leader }) => leader >= 0 && isr.length === replicas.length);
    } catch {
      // Asked in the middle of an election: not in step.
      return false;
    }
  }

  private async connected(): Promise<Admin> {
    if (this.admin !== undefined) return this.admin;
    const options = { brokers: [...this.inside], logLevel: logLevel.NOTHING };
    const admin = new Kafka({ clientId: 'torture', ...options }).admin();
    await admin.connect();
    this.admin = admin;
    return admin;
  }

  private async launch(self: Node): Promise<void> {
    const { settings, book, tools } = this.parts;
    const cluster: ClusterPlace = { id: this.clusterId, self, nodes: this.nodes };
    const record = await launchBroker({
      settings,
      java: tools.java,
      jars: tools.artifacts.kafkaJars,
      brokerPort: self.brokerPort,
      controllerPort: self.controllerPort,
      fresh: false,
      name: `broker-${self.id}`,
      cluster,
    });
    this.records.set(self.id, book.note(record));
  }

  private async ready(id: number): Promise<void> {
    const record = this.records.get(id);
    if (record !== undefined) await brokerReady(record);
  }
}
