import { LongreinError, toError } from '../errors.ts';
import type { PartitionName, Reader } from '../log/port.ts';
import { type Halt, Halts } from './halts.ts';
import { KnownTopics } from './known-topics.ts';
import { LaneTurns } from './lane-turns.ts';
import { Partition } from './partition.ts';
import type { PartitionParts } from './partition-parts.ts';
import { whileAway } from './patience.ts';
import type { HostPorts } from './ports.ts';
import { UnreadWriting } from './unread-writing.ts';
import type { Watermarks } from './watermarks.ts';
import { windDown } from './wind-down.ts';

export type AssignmentParts = Readonly<{
  ports: HostPorts;
  watermarks: Watermarks;
  /** Number of partitions of a topic, as it was at the start. */
  partitionCount(topic: string): number;
  /** Partitions that the group may give us soon. */
  expected(): readonly PartitionName[];
  /** What a partition is built of, but for its reading and its end. */
  partsOf(at: PartitionName): Omit<PartitionParts, 'reading' | 'onHalt'>;
}>;

/** The identity of topics is looked at that much more rarely than sessions. */
const looksPerCheck = 12;

export const nameOf = (at: PartitionName): string => `${at.topic}/${at.partition}`;

/**
 * The partitions of a host: those that the group gave it, and those that it lost and still reads because something of
 * its own is on the way there (DESIGN 3.9).
 */
export class Assignments {
  private readonly partitions = new Map<string, Partition>();
  private readonly opening = new Map<string, Promise<void>>();
  private readonly parts: AssignmentParts;
  /** Partitions that the group gave us; undefined until it said so first. */
  private wanted: ReadonlySet<string> | undefined;
  /** Those that are read ahead until the group says whose they are; false where that cannot be done. */
  private readonly ahead = new Map<string, boolean>();
  private reader: Reader | undefined;
  private stopping = false;
  private readonly halts: Halts;
  private readonly turns: LaneTurns;
  private readonly topics: KnownTopics;
  private readonly unread: UnreadWriting;
  private looks = 0;

  constructor(parts: AssignmentParts) {
    this.parts = parts;
    this.topics = new KnownTopics(parts);
    this.unread = new UnreadWriting(parts.ports);
    this.turns = new LaneTurns(parts.ports.clock);
    this.halts = new Halts(parts.ports, (at) => this.openAgain(at));
  }

  readFrom(reader: Reader): void {
    this.reader = reader;
  }

  get(at: PartitionName): Partition | undefined {
    return this.partitions.get(nameOf(at));
  }

  values(): readonly Partition[] {
    return [...this.partitions.values()];
  }

  /** Whether all services are owned in all partitions that the group gave us, but for those that stopped. */
  get ready(): boolean {
    const { wanted } = this;
    if (wanted === undefined || [...this.opening.keys()].some((name) => wanted.has(name)))
      return false;
    const stopped = this.halted();
    const own = this.values().filter((one) => wanted.has(nameOf(one.name)));
    const well = own.filter((one) => stopped[nameOf(one.name)] === undefined);
    const others = [...wanted].filter((name) => stopped[name] === undefined);
    return well.length === others.length && well.every((one) => one.ready);
  }

  /** What is missing until `ready`, or until this service is, in words; empty where nothing is. */
  unready(service?: string): readonly string[] {
    const { wanted } = this;
    if (wanted === undefined) return ['the consumer group has not said yet what is its part'];
    const stopped = this.halted();
    return [...wanted]
      .filter((name) => stopped[name] === undefined)
      .flatMap((name) => {
        const partition = this.opening.has(name) ? undefined : this.partitions.get(name);
        return waitsFor(name, partition, service) ?? [];
      });
  }

  /** `topic/partition` -> why it stands still. */
  halted(): Readonly<Record<string, Halt>> {
    for (const { name, halted, caughtUp } of this.partitions.values())
      if (!halted && caughtUp && this.halts.has(name)) this.halts.remove(name);
    return this.halts.all();
  }

  /** No partition is opened any more. */
  stop(): void {
    this.stopping = true;
    this.expect([]);
    this.halts.stop();
  }

  /** The group says which partitions are ours. */
  assign(partitions: readonly PartitionName[]): void {
    this.wanted = new Set(partitions.map(nameOf));
    for (const partition of this.values()) {
      if (!this.wanted.has(nameOf(partition.name))) partition.standDown();
    }
    for (const name of this.wanted) this.ahead.delete(name);
    for (const at of partitions) if (!this.halts.has(at)) this.begin(at);
  }

  /** Facts that are not in the log may have changed (presence, clock). */
  look(): void {
    for (const partition of this.values()) partition.look();
    if (!this.stopping) this.expect(this.parts.expected());
  }

  /** Reads these ahead, and others no more. */
  private expect(partitions: readonly PartitionName[]): void {
    const names = new Set(partitions.map(nameOf));
    for (const name of this.ahead.keys()) if (!names.has(name)) this.letGo(name);
    for (const at of partitions) {
      const name = nameOf(at);
      if (this.partitions.has(name) || this.ahead.has(name) || this.wanted?.has(name)) continue;
      this.parts.ports.logger.info(at, 'its owner is silent: reading ahead');
      this.ahead.set(name, true);
      this.begin(at);
    }
  }

  private letGo(name: string): void {
    const partition = this.partitions.get(name);
    if (partition !== undefined) this.reader?.unassign(partition.name);
    this.partitions.delete(name);
    this.ahead.delete(name);
  }

  private begin(at: PartitionName): void {
    const name = nameOf(at);
    if (this.opening.has(name)) return;
    const wasAhead = this.ahead.has(name);
    const wanted = (): boolean => this.isRead(name) && !this.stopping;
    const patience = { ports: this.parts.ports, what: `reading of ${name}`, wanted };
    const opened = whileAway(patience, () => this.open(at))
      .catch((thrown: unknown) => this.failed(at, toError(thrown)))
      .finally(() => {
        this.opening.delete(name);
        // The group gave it to us while it was being opened to be read ahead.
        if (wasAhead && this.wanted?.has(name) === true && !this.halts.has(at)) this.begin(at);
      });
    this.opening.set(name, opened);
  }

  /** Whether it is only read ahead, or was to be. */
  isAhead(at: PartitionName): boolean {
    return this.ahead.has(nameOf(at));
  }

  private isRead(name: string): boolean {
    return this.wanted?.has(name) === true || this.ahead.get(name) === true;
  }

  /** A partition that stopped is opened from its watermarks, as if this process had just started. */
  private openAgain(at: PartitionName): void {
    const name = nameOf(at);
    if (this.stopping || this.wanted?.has(name) !== true) {
      this.halts.remove(at);
      return;
    }
    // What runs for the old one is known to it alone. What has ended is in the writer's queue, before all that follows.
    if ((this.partitions.get(name)?.effects.unfinished ?? 0) > 0) {
      this.halts.later(at);
      return;
    }
    this.partitions.delete(name);
    this.begin(at);
  }

  private async open(at: PartitionName): Promise<void> {
    const { ports, watermarks } = this.parts;
    const known = this.get(at);
    if (known?.assigned === true && !known.halted) return;
    if (known?.halted === true && known.effects.unfinished > 0)
      throw new LongreinError('PARTITION_STOPPED', `${nameOf(at)} stopped, and effects run still`);
    await watermarks.current();
    this.requireOldPartition(at);
    await this.topics.identify(at.topic);
    const bounds = (await ports.log.bounds(at.topic)).get(at.partition);
    if (bounds === undefined)
      throw new LongreinError('PARTITION_UNKNOWN', `${nameOf(at)} does not exist`, {
        fix: `restore ${at.topic} with all its partitions from a backup; which it should have: longrein topics list`,
      });
    if (!this.isRead(nameOf(at)) || this.reader === undefined) return;
    if (known?.halted === true) this.partitions.delete(nameOf(at));
    else if (known !== undefined) return known.standUp(bounds.high);
    const reading = {
      pause: (partition: PartitionName) => this.reader?.pause(partition),
      resume: (partition: PartitionName) => this.reader?.resume(partition),
      skip: (partition: PartitionName, from: number, to: number) =>
        this.reader?.skip?.(partition, from, to),
    };
    const turn = this.turns.of(at.topic);
    const own = { ...this.parts.partsOf(at), reading, turn };
    const onHalt = (name: PartitionName, error: Error): void => {
      // One that was let go says nothing of what is read there now.
      if (this.get(at) === partition) this.failed(name, error);
    };
    const partition: Partition = new Partition(at, { ...own, onHalt }, bounds);
    if (this.ahead.has(nameOf(at))) partition.standDown();
    this.partitions.set(nameOf(at), partition);
    this.reader.assign(at, partition.position);
    partition.claimWhenReady();
  }

  /** Now and then: partitions that are nobody's here are let go, and more rarely the topics are looked at. */
  tend(): void {
    this.dropIdle();
    this.unread.look(this.values(), this.reader);
    this.looks += 1;
    if (this.looks % looksPerCheck !== 0) return;
    this.checkTopics().catch((thrown: unknown) => {
      const error = toError(thrown).message;
      this.parts.ports.logger.warn({ error }, 'topics not looked at; later');
    });
  }

  private checkTopics(): Promise<void> {
    const topics = new Set(this.values().map(({ name }) => name.topic));
    return this.topics.check(topics, (topic, error) => {
      for (const { name, halted } of this.values())
        if (name.topic === topic && !halted) this.failed(name, error);
    });
  }

  /** A topic that grew: no session belongs there, and who starts anew refuses the topic. */
  private requireOldPartition({ topic, partition }: PartitionName): void {
    const count = this.parts.partitionCount(topic);
    if (partition < count) return;
    const message = `${topic} had ${count} partitions when this host started, and has more now`;
    throw new LongreinError('TOPIC_PARTITIONS_DIFFER', message, {
      fix: `the number can never change: no session is in ${topic}/${partition}, and no host will start; restore the topic with ${count} partitions from a backup`,
    });
  }

  /** A partition cannot be worked on: the others go on. */
  failed(at: PartitionName, error: Error): void {
    const partition = this.get(at);
    // It comes back here when it has stopped.
    if (partition?.halted === false) {
      partition.fail(error);
      return;
    }
    this.reader?.unassign(at);
    // Nobody asked for it yet: when the group does, it is opened anew, and says what is wrong.
    if (this.ahead.has(nameOf(at))) {
      this.partitions.delete(nameOf(at));
      this.ahead.set(nameOf(at), false);
      return;
    }
    if (!this.stopping) this.halts.add(at, error);
  }

  /** Partitions that are not ours any more and have nothing running are read no longer. */
  private dropIdle(): void {
    for (const [name, partition] of this.partitions) {
      if (!this.wanted?.has(name)) this.halts.remove(partition.name);
      if (this.isRead(name) || !partition.idle || this.opening.has(name)) continue;
      this.reader?.unassign(partition.name);
      this.partitions.delete(name);
    }
  }

  /** Ends all work by this time (`wind-down.ts`). */
  end(deadlineMs: number): Promise<void> {
    return windDown(() => this.values(), this.parts.ports.clock, deadlineMs);
  }
}

/** Undefined where a partition is worked on. */
function waitsFor(name: string, partition: Partition | undefined, service: string | undefined) {
  if (partition === undefined) return `${name} is being opened`;
  if (!partition.caughtUp) return `${name} is being read, and is at ${partition.position}`;
  const { ready, ownership } = partition;
  const isOwned = service === undefined ? ready : !ownership.lacks(service);
  return isOwned ? undefined : `${name} is read, and not owned yet`;
}
