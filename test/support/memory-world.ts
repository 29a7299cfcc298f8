import { join } from 'node:path';
import type { JsonObject } from '../../schemas/json.ts';
import {
  budgetsTopic,
  goalsTopic,
  keysTopic,
  lanes,
  partitionsOf,
  poolsTopic,
  resultsTopic,
  sessionTopic,
  topicConfig,
  topics,
} from '../../schemas/topics.ts';
import type { Catalog } from '../../services/chassis/catalog/catalog.ts';
import { requireCatalog } from '../../services/chassis/catalog/load.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { createMemoryBlobs } from '../../services/chassis/content/blobs.ts';
import type { ContentKeys } from '../../services/chassis/content/content-keys.ts';
import { Host } from '../../services/chassis/host/host.ts';
import { Lanes } from '../../services/chassis/host/lanes.ts';
import type { Clock, HostPorts, Logger, Tracer } from '../../services/chassis/host/ports.ts';
import type { BuiltService } from '../../services/chassis/host/service-context.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import {
  MemoryCluster,
  type MemoryFaults,
} from '../../services/chassis/log/memory/memory-cluster.ts';
import type { MemoryLog } from '../../services/chassis/log/memory/memory-log.ts';
import { partitionOf } from '../../services/chassis/log/partition.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import type { Figures } from '../../services/chassis/telemetry/figures.ts';
import { derivedTracer } from '../../services/chassis/telemetry/tracer.ts';
import type { KeepFailed } from '../../services/event-store/service.ts';
import type { GateRules } from '../../services/model-gateway/gate/rules.ts';
import type { DayLimit } from '../../services/model-gateway/tranche.ts';
import type { FakeTool, StartedEffect } from './memory-effects.ts';
import type { FakeModel } from './memory-models.ts';
import { buildServices, type ServiceWorld } from './memory-services.ts';
import { worldTools } from './memory-tools.ts';
import { keepingLogger, quietPorts } from './quiet-ports.ts';
import { VirtualClock } from './virtual-clock.ts';

/**
 * A whole Longrein in memory, without event store: hosts with the real services over the memory log and virtual time.
 * Tools and models are functions. The same options and the same calls give the same log, byte for byte.
 */

export type MemoryWorldOptions = Readonly<{
  seed?: number;
  /** One list of services per host; default: one host with `all`. */
  hosts?: readonly (readonly string[])[];
  faults?: MemoryFaults;
  /** After how long a group notices that a member has crashed, in milliseconds. */
  crashNoticedMs?: number;
  partitions?: number;
  housekeepingMs?: number;
  catalog?: Catalog;
  /** Beside the tools of the example catalogs, or in their place. */
  tools?: Readonly<Record<string, FakeTool>>;
  /** What `files.read` finds, by path. */
  files?: Readonly<Record<string, string>>;
  model?: FakeModel;
  gateRules?: GateRules;
  dayBudget?: DayLimit;
  /** Tenants with keys: their contents are sealed. */
  keys?(): ContentKeys;
  /** What the hosts' spans go to; default: nowhere. */
  tracer?: Tracer;
  /** Where each host counts. */
  figuresOf?(host: string): Figures;
  /** What an event store keeps of sessions that failed. */
  keepFailed?: KeepFailed;
  /** Changes a logic before a host gets it. */
  change?(logic: AnyLogic): AnyLogic;
  startMs?: number;
}>;

export type HostRelease = Readonly<{ release: string; change?: (logic: AnyLogic) => AnyLogic }>;

export type Goal = Readonly<{ goal: string }> & JsonObject;

export type Published = Readonly<{ goalId: string; session: string; goalLog: string }>;

export type WorldHost = Readonly<{
  name: string;
  /** What it was asked to run. */
  names: readonly string[];
  host: Host;
  log: MemoryLog;
  logger: ReturnType<typeof keepingLogger>;
  services: readonly BuiltService[];
}>;

const catalogDirectories = [
  'deploy/examples',
  'test/fixtures/catalog',
  'test/fixtures/memory-world',
];

/** The example catalog, the one of tests, and the one of this world, in one. */
export const worldCatalog = (): Catalog =>
  requireCatalog(catalogDirectories.map((path) => join(packageRoot, path)));

/** Topics whose records are turns, inputs, checkpoints and epochs of sessions. */
export const sessionTopics: readonly string[] = [
  ...lanes.map(sessionTopic),
  keysTopic,
  budgetsTopic,
  poolsTopic,
];

/** A real clock says whole milliseconds, whatever fraction of one was waited. */
const wholeMs = (clock: Clock): Clock => ({
  nowMs: () => clock.nowMs(),
  after: (delayMs, run) => clock.after(Math.ceil(delayMs), run),
});

export class MemoryWorld {
  readonly clock: VirtualClock;
  readonly cluster: MemoryCluster;
  readonly blobs = createMemoryBlobs();
  readonly codec = createFixedCodec();
  /** Effects in the order in which they were really started. */
  readonly started: StartedEffect[] = [];
  readonly hosts: WorldHost[] = [];
  readonly published: Published[] = [];
  readonly fatal: Error[] = [];
  private readonly options: MemoryWorldOptions;
  private readonly services: ServiceWorld;
  private readonly outside: MemoryLog;
  private readonly seed: number;
  private startedHosts = 0;

  private constructor(options: MemoryWorldOptions) {
    this.options = options;
    this.seed = options.seed ?? 1;
    this.clock = new VirtualClock(options.startMs);
    this.cluster = new MemoryCluster({
      scheduler: this.clock,
      nowMs: () => this.clock.nowMs(),
      ...(options.faults === undefined ? {} : { faults: options.faults }),
      ...(options.crashNoticedMs === undefined ? {} : { crashNoticedMs: options.crashNoticedMs }),
    });
    this.outside = this.cluster.connect('outside');
    this.services = {
      catalog: options.catalog ?? worldCatalog(),
      tools: { ...worldTools(options.files ?? {}), ...options.tools },
      model: options.model ?? (() => ({ text: 'Nothing is new.' })),
      ...(options.gateRules === undefined ? {} : { gateRules: options.gateRules }),
      ...(options.dayBudget === undefined ? {} : { dayBudget: options.dayBudget }),
      ...(options.keepFailed === undefined ? {} : { keepFailed: options.keepFailed }),
      started: this.started,
      change: options.change ?? ((logic) => logic),
    };
  }

  /** A world whose hosts own their partitions. */
  static async start(options: MemoryWorldOptions = {}): Promise<MemoryWorld> {
    const world = new MemoryWorld(options);
    const { partitions = 2 } = options;
    const specs = topics.map((topic) => ({
      name: topic.name,
      partitions: partitionsOf(topic, partitions),
      config: topicConfig(topic, 1_048_576),
    }));
    await world.during(world.outside.ensureTopics(specs));
    const groups = options.hosts ?? [['all']];
    for (const [index, names] of groups.entries())
      await world.startHost(`host-${index + 1}`, names);
    await world.clock.run(60_000, () => world.hosts.every(({ host }) => host.ready));
    return world;
  }

  /**
   * Starts one more host, of this release or of another one whose logics are changed. It joins the groups that hosts of
   * the same services are in.
   */
  async startHost(
    name: string,
    names: readonly string[],
    { release, change }: HostRelease = { release: '0.0.0-world' },
  ): Promise<WorldHost> {
    const housekeepingMs = this.options.housekeepingMs ?? 1_000;
    const log = this.cluster.connect(name);
    const logger = keepingLogger();
    const figures = this.options.figuresOf?.(name);
    const plain = this.portsOf(log, logger);
    const ports = figures === undefined ? plain : { ...plain, figures };
    const lanes = new Lanes(ports, this.options.partitions ?? 2);
    await this.during(lanes.start());
    const at = { ports, housekeepingMs, lanes };
    const world = change === undefined ? this.services : { ...this.services, change };
    const services = await buildServices(names, world, at);
    const host = new Host({
      name,
      release,
      services: services.map((one) => one.hosted),
      ports,
      lanes,
      housekeepingMs,
      onFatal: (error) => this.fatal.push(error),
    });
    const started = { name, names, host, log, logger, services };
    this.hosts.push(started);
    await this.during(host.start(topics.map((topic) => topic.name)));
    for (const { companion } of services)
      if (companion !== undefined) await this.during(companion.start(host));
    return started;
  }

  private portsOf(log: MemoryLog, logger: Logger): HostPorts {
    const { blobs, codec, seed } = this;
    const clock = wholeMs(this.clock);
    const tracer = this.options.tracer ?? derivedTracer;
    this.startedHosts += 1;
    return quietPorts(log, clock, {
      // An incarnation is never that of another process, dead or alive.
      seed: seed * 1_000 + this.startedHosts,
      ...{ blobs, codec, logger, tracer },
      ...(this.options.keys === undefined ? {} : { keys: this.options.keys() }),
    });
  }

  /** The host's process dies: nothing of it happens any more. */
  crash(name: string): void {
    const index = this.hosts.findIndex((one) => one.name === name);
    const [gone] = index < 0 ? [] : this.hosts.splice(index, 1);
    if (gone === undefined) throw new Error(`there is no host ${name}`);
    gone.log.crash();
  }

  /** Stops a host as SIGTERM would. */
  async stopHost(name: string): Promise<void> {
    const index = this.hosts.findIndex((one) => one.name === name);
    const [leaving] = index < 0 ? [] : this.hosts.splice(index, 1);
    if (leaving === undefined) throw new Error(`there is no host ${name}`);
    for (const { companion } of leaving.services)
      if (companion !== undefined) await this.during(companion.stop());
    await this.during(leaving.host.stop(8_000));
    await this.during(leaving.log.close());
  }

  async stop(): Promise<void> {
    for (const { name } of [...this.hosts]) await this.stopHost(name);
  }

  /** Publishes a goal as another system would. Its session begins when the clock runs. */
  publishGoal(goal: Goal): Published {
    const goalId = String(goal['id'] ?? `goal-${this.published.length + 1}`);
    const session = sessionId(String(goal['tenant'] ?? 'default'), 'world', goalId);
    this.send(goalId, { ...goal, id: goalId });
    const published = { goalId, session, goalLog: `goal_${session}` };
    this.published.push(published);
    return published;
  }

  /** Asks for the end of a goal's session. */
  publishCancel(goalId: string, reason = 'not needed any more', tenant = 'default'): void {
    this.send(goalId, { cancel: goalId, source: 'world', tenant, reason });
  }

  private send(goalId: string, value: JsonObject): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const headers = {
      ce_source: 'world',
      ...('cancel' in value || 'signal' in value ? {} : { ce_id: goalId }),
    };
    const partition = partitionOf(goalId, this.partitionCount(goalsTopic));
    const record = { key: goalId, headers, value: bytes };
    this.outside.append({ topic: goalsTopic, partition }, [record]).catch(() => undefined);
  }

  partitionCount(topic: string): number {
    return this.cluster.topics.get(topic).partitions.length;
  }

  /**
   * Runs until every published goal has its result and every session is closed (goal logs are not looked
   * at). Answers whether that came.
   */
  runUntilDone(withinMs = 600_000): Promise<boolean> {
    return this.clock.run(withinMs, () => this.isDone());
  }

  private isDone(): boolean {
    const answered = new Set(this.results().map(({ goalId }) => goalId));
    if (!this.published.every(({ goalId }) => answered.has(goalId))) return false;
    return this.unclosed().length === 0;
  }

  /** Sessions of these topics that have no `session.closed` yet; default: of every lane. */
  unclosed(topicNames: readonly string[] = lanes.map(sessionTopic)): readonly string[] {
    const open = new Set<string>();
    for (const { headers } of topicNames.flatMap((topic) => this.records(topic))) {
      const session = headers['ce_subject'] ?? '';
      const types = headers['lr_types'] ?? '';
      if (types.includes('session.closed')) open.delete(session);
      else if (/^(session\.opened|goal\.received)$/.test(types)) open.add(session);
    }
    return [...open];
  }

  /** Results as other systems read them, in the order in which they came, repeats included. */
  results(): readonly JsonObject[] {
    return this.recordsOf(resultsTopic).map(
      ({ value }) => this.codec.decode(value ?? new Uint8Array()).body as JsonObject,
    );
  }

  /** Records of session logs; of every session topic, or of one. */
  records(topic?: string): readonly LogRecord[] {
    return (topic === undefined ? sessionTopics : [topic]).flatMap((one) => this.recordsOf(one));
  }

  private recordsOf(topic: string): readonly LogRecord[] {
    const partitions = [...this.cluster.topics.get(topic).partitions.keys()];
    return partitions.flatMap((partition) => this.cluster.records({ topic, partition }));
  }

  /** Lets the world go on until something that needs it has settled. */
  async during<T>(pending: Promise<T>): Promise<T> {
    let settled = false;
    const done = pending.finally(() => {
      settled = true;
    });
    done.catch(() => undefined);
    for (let rounds = 0; !settled && rounds < 100_000; rounds++)
      await this.clock.run(5, () => settled);
    if (!settled) throw new Error('the world waited in vain');
    return done;
  }

  /** A connection to the log for a program that is no host. */
  connect(name: string): MemoryLog {
    return this.cluster.connect(name);
  }
}
