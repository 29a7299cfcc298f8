import { firstGeneration } from '../../../schemas/topics.ts';
import { LongreinError, toError } from '../errors.ts';
import { partitionOf } from '../log/partition.ts';
import type { PartitionName, Reader } from '../log/port.ts';
import type { InputBody } from '../protocol/record.ts';
import { Assignments } from './assignments.ts';
import { GroupSeat } from './group-seat.ts';
import { type HostStatus, servedOf, statusOf } from './host-status.ts';
import type { Lanes } from './lanes.ts';
import { MarkWriter } from './mark-writer.ts';
import { Outlet } from './outlet.ts';
import type { HostIdentity } from './ownership.ts';
import type { PartitionParts } from './partition-parts.ts';
import { PartitionWatch } from './partition-watch.ts';
import { whileAway } from './patience.ts';
import { persist } from './persistence.ts';
import type { HostedService, HostPorts } from './ports.ts';
import { type Heartbeat, Presence } from './presence.ts';
import { expectedBy } from './read-ahead.ts';
import { refusedInput } from './refused-input.ts';
import { enlist } from './service-list.ts';
import { Watermarks } from './watermarks.ts';
import { WriterPool } from './writer-pool.ts';

export type HostOptions = Readonly<{
  name: string;
  release: string;
  services: readonly HostedService[];
  ports: HostPorts;
  /** The generations of the lanes, where there may be more than the first. */
  lanes?: Lanes;
  /** Checkpoints and watermarks are looked at so often. */
  housekeepingMs: number;
  /** The host cannot go on: the process should end with this message. */
  onFatal: (error: LongreinError) => void;
}>;

/**
 * A host: one process that runs one or more services with one reader and one writer per partition (DESIGN 3, Hosts).
 */
export class Host {
  readonly identity: HostIdentity;
  private readonly options: HostOptions;
  private readonly partitions: Assignments;
  private readonly writers: WriterPool;
  private readonly counts = new Map<string, number>();
  private readonly presence: Presence;
  readonly watermarks: Watermarks;
  private readonly marks: MarkWriter;
  private readonly outlet: Outlet;
  private reader: Reader | undefined;
  private membership: GroupSeat | undefined;
  private cancelTick: (() => void) | undefined;
  private stopping = false;

  constructor(options: HostOptions) {
    this.options = options;
    const { ports, name, release } = options;
    this.identity = { incarnation: ports.random.id(), host: name, release };
    this.writers = new WriterPool(ports, (at, records) =>
      this.partitions.get(at)?.takeOwn(records),
    );
    this.watermarks = new Watermarks(ports);
    this.marks = new MarkWriter(this.watermarks);
    this.presence = new Presence(ports, {
      incarnation: this.identity.incarnation,
      describe: () => this.heartbeat(),
      onChange: () => this.partitions.look(),
    });
    this.partitions = new Assignments({
      ports,
      watermarks: this.watermarks,
      partitionCount: (topic) => this.partitionCount(topic),
      expected: () => this.expected(),
      partsOf: (at) => this.partsOf(at),
    });
    this.outlet = new Outlet({
      ports,
      partitions: (topic) => this.partitionCount(topic),
      writer: (partition) => this.writers.of(partition),
      learn: (topic) => (this.counts.has(topic) ? undefined : this.learn(topic)),
    });
  }

  /** Topics whose partitions this host works on. */
  get topics(): readonly string[] {
    const { services, lanes } = this.options;
    const own = [...new Set(services.flatMap((service) => service.topics))];
    return own.flatMap((topic) => lanes?.topicsOf(topic) ?? [topic]).sort();
  }

  get group(): string {
    const services = this.options.services.map((service) => service.logic.name).sort();
    return `longrein.${services.join('+')}`.slice(0, 200);
  }

  /** Starts and joins. `otherTopics`: topics that deliveries go to, besides the own ones. */
  async start(otherTopics: readonly string[]): Promise<void> {
    const { log } = this.options.ports;
    for (const topic of new Set([...this.topics, ...otherTopics])) {
      this.counts.set(topic, (await log.bounds(topic)).size);
    }
    await this.watermarks.start();
    await this.enlist();
    await this.presence.start();
    this.reader = await log.reader({
      onRecords: (partition, records) => this.partitions.get(partition)?.take(records),
      onPartitionError: (partition, error) => this.partitions.failed(partition, error),
      onInterruption: (error) =>
        this.options.ports.logger.warn(
          { error: error.message },
          'broker cannot be reached; waiting',
        ),
    });
    this.partitions.readFrom(this.reader);
    this.membership = this.seat();
    await this.membership.join(this.topics);
    this.options.lanes?.onChange(() => this.follow());
    this.tick();
  }

  private async enlist(): Promise<void> {
    const { ports, services, release } = this.options;
    const patience = { ports, what: 'the list of services', wanted: () => !this.stopping };
    await whileAway(patience, () =>
      enlist(this.watermarks, services, { release, nowMs: ports.clock.nowMs() }),
    );
  }

  private seat(): GroupSeat {
    const { log, logger } = this.options.ports;
    const handlers = {
      onAssignment: (partitions: readonly PartitionName[]) => this.partitions.assign(partitions),
      onCrash: (error: Error) =>
        this.fatal('GROUP_LOST', `the consumer group ended: ${error.message}`, error),
    };
    return new GroupSeat({ log, logger, group: this.group, handlers });
  }

  /** The lanes have other topics from now on. */
  private follow(): void {
    const { clock } = this.options.ports;
    const known = async (): Promise<readonly string[]> => {
      await Promise.all(this.topics.map((topic) => this.learn(topic)));
      return this.topics;
    };
    const pause = (): Promise<void> =>
      new Promise((resolve) => {
        clock.after(1_000, resolve);
      });
    this.membership?.change(known, pause);
  }

  private async learn(topic: string): Promise<void> {
    if (this.counts.has(topic)) return;
    const { ports } = this.options;
    const patience = { ports, what: `looking at ${topic}`, wanted: () => !this.stopping };
    await whileAway(patience, async () => {
      this.counts.set(topic, (await ports.log.bounds(topic)).size);
    });
  }

  /** Something outside the log changed for this session: its services look again. */
  nudge(topic: string, session: string): void {
    const partition = partitionOf(session, this.partitionCount(topic));
    this.partitions.get({ topic, partition })?.nudge(session);
  }

  /**
   * Appends an input to a session log that this host need not own. Where the broker will never take it, that leaves an alarm
   * and a dead letter, and what waits for it goes on.
   */
  appendInput(
    topic: string,
    input: { id: string; body: InputBody; traceparent: string },
    onAppended: () => void,
  ): void {
    const partition = partitionOf(input.body.session, this.partitionCount(topic));
    const writer = this.writers.of({ topic, partition });
    persist(this.options.ports, {
      ...{ what: 'an input', fields: { topic, session: input.body.session } },
      wanted: () => !this.stopping,
      push: ({ appended, refused }) =>
        writer.push({ records: [input], onAppended: appended, onRefused: refused }),
      onTaken: onAppended,
      onHopeless: (error) => {
        const { ports } = this.options;
        const parts = { ports, outlet: this.outlet, wanted: () => !this.stopping };
        void refusedInput(input, error, parts).finally(onAppended);
      },
    });
  }

  /** A position that is kept among the watermarks for a reader of another topic. */
  async externalMark(name: string, at: PartitionName): Promise<number | undefined> {
    await this.watermarks.current();
    return this.watermarks.of(name, at)?.offset;
  }

  async writeExternalMark(name: string, at: PartitionName, offset: number): Promise<void> {
    await this.watermarks.write([{ service: name, ...at, offset, acceptance: {} }], []);
  }

  /** Which services this host owns in each partition, and why some stand still; for health and for companions. */
  status(): HostStatus {
    return statusOf(this.partitions.values(), this.partitions.halted());
  }

  /** Instances that were heard lately, this one among them once it has heard itself. */
  alive(): readonly Heartbeat[] {
    return this.presence.alive();
  }

  /** Why it, or this service of it, is not ready, or can do nothing at the moment, in words. */
  unready(service?: string): readonly string[] {
    if (this.stopping) return ['it is stopping'];
    return [...this.presence.unheard(), ...this.partitions.unready(service)];
  }

  /** Offsets of the next records to take. */
  positions(): readonly (PartitionName & { offset: number })[] {
    const all = this.partitions.values().filter((one) => !this.partitions.isAhead(one.name));
    return all.map(({ name, position }) => ({ ...name, offset: position }));
  }

  /** Whether this host owns all its services in all partitions that the group gave it. */
  get ready(): boolean {
    return this.partitions.ready;
  }

  /**
   * Stops gracefully within the time: nothing more is decided, running effects get half of the time to end and are then
   * told to stop, sessions are checkpointed, marks written, the group is left. What does not fit into the time is
   * recovered from the log by the next host.
   */
  async stop(withinMs: number): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    this.partitions.stop();
    this.cancelTick?.();
    await this.partitions.end(this.options.ports.clock.nowMs() + withinMs);
    await this.marks.write(this.partitions.values(), this.membership);
    await this.membership?.leave();
    await this.presence.stop();
    await this.watermarks.stop();
    await this.reader?.close();
    this.writers.close();
    await Promise.all(this.options.services.map((service) => service.stop?.()));
  }

  private expected(): readonly PartitionName[] {
    const partitionCount = (topic: string): number | undefined => this.counts.get(topic);
    const group = { ...this.identity, topics: this.topics, partitionCount };
    return expectedBy(group, this.presence.silences());
  }

  private partitionCount(topic: string): number {
    const count = this.counts.get(topic);
    if (count !== undefined && count > 0) return count;
    throw new LongreinError('TOPIC_UNKNOWN', `topic ${topic} is not known to this host`);
  }

  private partsOf(at: PartitionName): Omit<PartitionParts, 'reading' | 'onHalt'> {
    const { ports, services } = this.options;
    return {
      ports,
      services: services.filter((one) => one.topics.includes(firstGeneration(at.topic))),
      identity: this.identity,
      presence: this.presence,
      watermarks: this.watermarks,
      outlet: this.outlet,
      writer: this.writers.of(at),
      watch: new PartitionWatch(at, { ports, identity: this.identity }),
    };
  }

  private heartbeat(): Heartbeat {
    const services = this.options.services.map((service) => service.logic.name);
    const served = servedOf(this.partitions.values(), this.partitions.halted());
    const atMs = this.options.ports.clock.nowMs();
    return { ...this.identity, services, ...served, atMs };
  }

  private tick(): void {
    if (this.stopping) return;
    const { clock, logger } = this.options.ports;
    this.cancelTick = clock.after(this.options.housekeepingMs, () => this.tick());
    for (const partition of this.partitions.values()) partition.checkpoint();
    this.partitions.tend();
    this.marks.write(this.partitions.values(), this.membership).catch((thrown: unknown) => {
      logger.warn({ error: toError(thrown).message }, 'watermarks not written; later');
    });
  }

  private fatal(code: string, message: string, cause: Error): void {
    if (this.stopping) return;
    this.options.onFatal(new LongreinError(code, message, { cause, retryable: true }));
  }
}
