import type { JsonObject } from '../../../schemas/json.ts';
import {
  goalsTopic,
  partitionsOf,
  resultsTopic,
  topicConfig,
  topics,
} from '../../../schemas/topics.ts';
import { createMemoryBlobs } from '../../../services/chassis/content/blobs.ts';
import { toError } from '../../../services/chassis/errors.ts';
import { Host } from '../../../services/chassis/host/host.ts';
import type { BuiltService } from '../../../services/chassis/host/service-context.ts';
import type { Codec } from '../../../services/chassis/log/codec.ts';
import { MemoryCluster } from '../../../services/chassis/log/memory/memory-cluster.ts';
import type { MemoryLog } from '../../../services/chassis/log/memory/memory-log.ts';
import { partitionOf } from '../../../services/chassis/log/partition.ts';
import type {
  LogRecord,
  OutgoingRecord,
  PartitionName,
} from '../../../services/chassis/log/port.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';
import type { StartedEffect } from '../../support/memory-effects.ts';
import { buildServices, type ServiceWorld } from '../../support/memory-services.ts';
import { keepingLogger, type LogLine, quietPorts } from '../../support/quiet-ports.ts';
import { afterPromises, VirtualClock } from '../../support/virtual-clock.ts';
import { Archive } from './archive.ts';
import { simulatedCatalog } from './catalog.ts';
import { type Coverage, note } from './coverage.ts';
import { dayBudget, gateRules, type LedgerEntry, modelOf, toolsOf } from './effects.ts';
import { LogFaults } from './log-faults.ts';
import { logTopics, Network, outsider } from './network.ts';
import { dyingOf, poisonsOf, restartMs } from './poison.ts';
import { Process } from './process.ts';
import { asRelease, type Release } from './releases.ts';
import type { Schedule } from './schedule-shape.ts';
import { createSharedCodec } from './shared-codec.ts';
import { simulatedBlobs } from './simulated-blobs.ts';
import { SimulatedLog } from './simulated-log.ts';
import { SinkTable } from './sink-table.ts';
import { Witness } from './witness.ts';

const startMs = 1_700_000_000_000;

/** A change of the code that a run is made with, to show that the checkers see it. */
export type Sabotage = Readonly<{
  logic?(logic: AnyLogic): AnyLogic;
  services?(services: readonly BuiltService[]): readonly BuiltService[];
  /** Changes a record on its way to the log. `ends` says where a partition ends. */
  rewrite?(
    partition: PartitionName,
    record: OutgoingRecord,
    ends: (topic: string, partition: number) => number,
  ): OutgoingRecord;
  /** The changed logic is what checkers take for the real one. */
  isReal?: true;
}>;

export type SimulatedHost = Readonly<{
  name: string;
  host: Host;
  process: Process;
  log: SimulatedLog;
  lines: LogLine[];
  services: readonly BuiltService[];
  /** Whether its start is through; false for ever where it dies before. */
  started(): boolean;
}>;

/** Hosts with the real services over the memory log, each in a process of its own that can go wrong. */
export class SimulatedWorld {
  readonly clock = new VirtualClock(startMs, afterPromises);
  readonly coverage: Coverage = new Map();
  readonly blobs = createMemoryBlobs();
  readonly sink: SinkTable;
  readonly logFaults: LogFaults;
  readonly codec: Codec;
  readonly network: Network;
  readonly cluster: MemoryCluster;
  /** What janitors deleted. */
  readonly archive: Archive;
  /** Hosts that run, also while they stand still. */
  readonly hosts: SimulatedHost[] = [];
  /** Lines of all hosts that ever were. */
  readonly lines: Readonly<{ host: string; lines: LogLine[] }>[] = [];
  readonly witness = new Witness(() => this.clock.nowMs());
  readonly ledger: LedgerEntry[] = [];
  /** Told of each effect that begins. */
  onEffect: (host: string, name: string) => void = () => undefined;
  readonly published: string[] = [];
  readonly fatal: Error[] = [];
  readonly #schedule: Schedule;
  readonly #poisons: ReadonlyMap<string, string>;
  readonly #sabotage: Sabotage;
  readonly #outside: MemoryLog;
  #starts = 0;
  /** What each host was started with. */
  readonly #started = new Map<string, Readonly<{ names: readonly string[]; release: Release }>>();

  constructor(schedule: Schedule, sabotage: Sabotage = {}) {
    this.#schedule = schedule;
    this.#poisons = poisonsOf(schedule);
    this.#sabotage = sabotage;
    this.codec = createSharedCodec(schedule.seed);
    this.network = new Network(schedule, { clock: this.clock, coverage: this.coverage });
    this.network.onFault = (program, what, { topic, partition }) =>
      this.witness.note(program, `${what} (to ${topic}/${partition})`);
    this.cluster = new MemoryCluster({
      scheduler: this.network.scheduler,
      nowMs: () => Math.floor(this.clock.nowMs()),
      crashNoticedMs: schedule.sessionTimeoutMs,
      faults: {
        append: (at, records, program) => this.network.faultOf(at, records, program),
      },
    });
    this.archive = new Archive(this.cluster);
    this.sink = new SinkTable(schedule.seed, this);
    this.logFaults = new LogFaults(schedule.seed, this);
    this.#outside = this.cluster.connect(outsider);
    this.cluster.topics.ensure(
      topics.map((topic) => ({
        name: topic.name,
        partitions: partitionsOf(topic, schedule.partitions),
        config: topicConfig(topic, 1_048_576),
      })),
    );
  }

  /** Starts a host; it comes up while the clock runs. */
  async startHost(
    names: readonly string[],
    { skewMs, release }: { skewMs: number; release: Release },
  ): Promise<SimulatedHost> {
    this.#starts += 1;
    const name = `h${this.#starts}`;
    this.#started.set(name, { names, release });
    const process = new Process(this.clock, skewMs);
    const log = new SimulatedLog(this.cluster.connect(name), process, {
      rewritten: (at, records) => this.#sending(name, at, records),
      onTrim: (at, below) => this.#trimming(name, at, below),
    });
    const { lines, ...logger } = keepingLogger();
    const blobs = simulatedBlobs(this.blobs, { process, network: this.network });
    const ports = quietPorts(log, process.clock, {
      seed: this.#schedule.seed * 1_000 + this.#starts,
      ...{ blobs, codec: this.codec, logger },
      tracer: this.witness.tracerOf(name, process.clock),
    });
    // A janitor looks at its partitions only every twelfth time.
    const housekeepingMs = names.includes('janitor') ? 100 : this.#schedule.housekeepingMs;
    const built = await buildServices(names, this.#serviceWorld(name, process, release), {
      ports,
      housekeepingMs,
    });
    const services = this.#sabotage.services?.(built) ?? built;
    const host = new Host({
      ...{ name, ports, housekeepingMs, release: `0.0.0-${release}` },
      services: services.map((one) => one.hosted),
      onFatal: (error) => this.fatal.push(error),
    });
    let isStarted = false;
    const started = { name, host, process, log, lines, services, started: () => isStarted };
    this.hosts.push(started);
    this.lines.push({ host: name, lines });
    const run = async (): Promise<void> => {
      await host.start(topics.map((topic) => topic.name));
      for (const { companion } of services) await companion?.start(host);
      isStarted = true;
    };
    run().catch((thrown: unknown) => this.fatal.push(toError(thrown)));
    return started;
  }

  #sending(
    host: string,
    at: PartitionName,
    records: readonly OutgoingRecord[],
  ): readonly OutgoingRecord[] {
    this.witness.sent(host, at, records);
    const { rewrite } = this.#sabotage;
    if (rewrite === undefined) return records;
    const ends = (topic: string, partition: number): number =>
      this.cluster.topics.partition({ topic, partition })?.bounds.high ?? 0;
    return records.map((record) => rewrite(at, record, ends));
  }

  #trimming(host: string, at: PartitionName, below: number): void {
    this.note('records deleted');
    this.witness.note(host, `deletes ${at.topic}/${at.partition} below ${below}`);
    this.archive.take(at, below);
  }

  #serviceWorld(host: string, process: Process, release: Release): ServiceWorld {
    const change = this.#sabotage.logic ?? ((logic: AnyLogic) => logic);
    const started: StartedEffect[] = [];
    const parts = {
      seed: this.#schedule.seed,
      trouble: () => (this.network.calm ? 0 : this.#schedule.trouble),
      ...{ coverage: this.coverage, started, clock: this.clock },
      burstMs: this.#schedule.burstMs ?? 0,
      frozen: () => process.frozen,
      keep: (effect: StartedEffect) => this.#keep(host, effect),
    };
    return {
      catalog: simulatedCatalog(),
      tools: toolsOf(parts),
      model: modelOf(parts),
      gateRules,
      dayBudget,
      started,
      change: (logic) =>
        dyingOf(asRelease(release, change(logic)), this.#poisons, () => this.#poisoned(host)),
      table: this.sink.of(process),
      retentionMs: this.#schedule.retentionMs ?? Number.MAX_SAFE_INTEGER,
    };
  }

  /** Dies of a decision; somebody starts it anew. */
  #poisoned(host: string): void {
    const victim = this.hosts.find(({ name }) => name === host);
    if (victim === undefined) return;
    this.kill(victim, 'fault poison event');
    const { names, release } = this.#started.get(host) ?? { names: [], release: 'a' };
    this.clock.after(restartMs(this.#schedule.seed, this.#starts), () => {
      if (!this.runaway) void this.startHost(names, { skewMs: 0, release });
    });
  }

  #keep(host: string, { service, call, name, atMs }: StartedEffect): void {
    const ends = new Map<string, number>();
    for (const topic of logTopics) {
      for (const [partition, { bounds }] of this.cluster.topics.get(topic).partitions.entries())
        ends.set(`${topic}/${partition}`, bounds.high);
    }
    this.ledger.push({ service, call, name, atMs, host, ends });
    this.onEffect(host, name);
  }

  /** Dies here and now, unless it is dead. */
  kill(victim: SimulatedHost, name: string): void {
    if (!victim.process.alive || !this.#remove(victim)) return;
    this.note(name);
    victim.process.die();
    victim.log.crash();
  }

  /** Stops as SIGTERM would; the process ends in any case a little later. */
  stop(victim: SimulatedHost): void {
    if (!this.#remove(victim)) return;
    const stop = async (): Promise<void> => {
      for (const { companion } of victim.services) await companion?.stop();
      await victim.host.stop(8_000);
      await victim.log.close();
    };
    stop().catch(() => undefined);
    this.clock.after(9_500, () => {
      victim.process.die();
      victim.log.crash();
    });
  }

  #remove(victim: SimulatedHost): boolean {
    const index = this.hosts.indexOf(victim);
    if (index >= 0) this.hosts.splice(index, 1);
    return index >= 0;
  }

  /** Publishes on the goals topic as another system would. */
  publish(goalId: string, value: JsonObject): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const headers = {
      ce_source: 'world',
      ...('cancel' in value || 'signal' in value ? {} : { ce_id: goalId }),
    };
    const partition = partitionOf(goalId, this.#schedule.partitions);
    const record = { key: goalId, headers, value: bytes };
    this.#outside.append({ topic: goalsTopic, partition }, [record]).catch(() => undefined);
    if (!('cancel' in value) && !this.published.includes(goalId)) this.published.push(goalId);
  }

  /** All records that ever were in a topic. */
  recordsOf(topic: string): readonly (readonly LogRecord[])[] {
    const { partitions } = this.cluster.topics.get(topic);
    return [...partitions.keys()].map((partition) => this.archive.records({ topic, partition }));
  }

  get results(): readonly LogRecord[] {
    return this.recordsOf(resultsTopic).flat();
  }

  /** Whether something goes on for ever: the run has shown what it can show. */
  get runaway(): boolean {
    return this.network.runaway;
  }

  note(name: string): void {
    note(this.coverage, name);
  }
}
