import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureArtifacts, type InstalledArtifacts } from '../../deploy/local/artifacts.ts';
import { brokerReady, launchBroker } from '../../deploy/local/broker.ts';
import { type LocalSettings, readSettings } from '../../deploy/local/config.ts';
import { findJava } from '../../deploy/local/java.ts';
import type { JavaRuntime } from '../../deploy/local/java-runtime.ts';
import { freePorts } from '../../deploy/local/ports.ts';
import { type ProcessRecord, stopProcess } from '../../deploy/local/processes.ts';
import { launchRegistry, registryReady, registryUrl } from '../../deploy/local/registry.ts';
import { silent } from '../../deploy/local/report.ts';
import type { LiveStack } from './live-stack.ts';

type Ports = Readonly<{ broker: number; controller: number; registry: number; clickhouse: number }>;
type Tools = Readonly<{ java: JavaRuntime; artifacts: InstalledArtifacts }>;

const stopMs = 20_000;

/** A broker and a registry of a test's own, at addresses that are known before they run, each started and stopped apart. */
export class OwnBacking {
  readonly stack: LiveStack;
  private readonly settings: LocalSettings;
  private readonly ports: Ports;
  private readonly tools: Tools;
  private readonly dir: string;
  private broker: ProcessRecord | undefined;
  private registry: ProcessRecord | undefined;

  private constructor(at: { dir: string; settings: LocalSettings; ports: Ports; tools: Tools }) {
    this.dir = at.dir;
    this.settings = at.settings;
    this.ports = at.ports;
    this.tools = at.tools;
    this.stack = {
      brokers: [`127.0.0.1:${at.ports.broker}`],
      registryUrl: registryUrl({ port: at.ports.registry } as ProcessRecord),
      // Nobody listens there: what needs ClickHouse has to wait.
      clickhouseUrl: `http://127.0.0.1:${at.ports.clickhouse}`,
      blobDir: join(at.dir, 'blobs'),
    };
  }

  /** Finds what it takes; starts nothing. */
  static async prepare(): Promise<OwnBacking> {
    const dir = mkdtempSync(join(tmpdir(), 'longrein-backing-'));
    const given = { LONGREIN_BROKERS: '', LONGREIN_REGISTRY_URL: '', LONGREIN_STATE_DIR: dir };
    const settings = readSettings({ ...process.env, ...given });
    const tools = {
      java: await findJava(settings, silent),
      artifacts: await ensureArtifacts(settings, silent),
    };
    const [broker = 0, controller = 0, registry = 0, clickhouse = 0] = await freePorts(
      Array.from({ length: 4 }, () => undefined),
    );
    const ports = { broker, controller, registry, clickhouse };
    return new OwnBacking({ dir, settings, ports, tools });
  }

  async startBroker(): Promise<void> {
    const { java, artifacts } = this.tools;
    const { broker: brokerPort, controller: controllerPort } = this.ports;
    const common = { settings: this.settings, java, fresh: false };
    const jars = artifacts.kafkaJars;
    this.broker = await launchBroker({ ...common, jars, brokerPort, controllerPort });
    await brokerReady(this.broker);
  }

  async stopBroker(): Promise<void> {
    if (this.broker !== undefined) await stopProcess(this.broker, stopMs);
  }

  async startRegistry(): Promise<void> {
    const { java, artifacts } = this.tools;
    const common = { settings: this.settings, java, fresh: false };
    const { brokers } = this.stack;
    const port = this.ports.registry;
    this.registry = await launchRegistry({ ...common, jar: artifacts.registryJar, port, brokers });
    await registryReady(this.registry);
  }

  async stopRegistry(): Promise<void> {
    if (this.registry !== undefined) await stopProcess(this.registry, stopMs);
  }

  async remove(): Promise<void> {
    await this.stopRegistry();
    await this.stopBroker();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
