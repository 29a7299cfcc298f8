import { limits } from '../../../schemas/limits.ts';
import { LongreinError, toError } from '../errors.ts';
import type { LogRecord, PartitionName, Reader } from '../log/port.ts';
import { type AcceptanceState, accept } from '../protocol/acceptance.ts';
import {
  type PlacedRecord,
  parseHeader,
  type RecordBody,
  type RecordHeader,
} from '../protocol/record.ts';
import { AcceptanceHistory } from './acceptance-history.ts';
import { ClosedSessions } from './closed-sessions.ts';
import { EffectTable } from './effects.ts';
import type { Outlet } from './outlet.ts';
import { type HostIdentity, Ownership } from './ownership.ts';
import type { HostedService, HostPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import { readBody } from './read-body.ts';
import { SessionTable } from './session-table.ts';
import { Settler } from './settle.ts';
import { startOf } from './start-position.ts';
import { Timers } from './timers.ts';
import type { Watermark, Watermarks } from './watermarks.ts';
import type { PartitionWriter } from './writer.ts';

export type PartitionParts = Readonly<{
  ports: HostPorts;
  identity: HostIdentity;
  services: readonly HostedService[];
  presence: Presence;
  watermarks: Watermarks;
  outlet: Outlet;
  writer: PartitionWriter;
  /** The reader that feeds this partition. */
  reading: Pick<Reader, 'pause' | 'resume'>;
  onHalt: (partition: PartitionName, error: LongreinError) => void;
}>;

/** How long a cancel waits for the opening of its session. */
const earlyCancelMs = 3_600_000;

type Queued = LogRecord | PlacedRecord;
const isPlaced = (record: Queued): record is PlacedRecord => 'body' in record;

/**
 * One partition of a session log as this host works on it: reads in order, accepts, folds, settles.
 *
 * P1 Records are taken in offset order, each once; a gap stops the partition (DESIGN 3.13).
 * P2 Nothing is decided before all up to the high offset at assignment was read and the own epoch was read.
 * P3 What was read after ownership was lost is still folded: outcomes of running effects must be seen.
 */
export class Partition {
  readonly name: PartitionName;
  readonly effects: EffectTable;
  readonly ownership: Ownership;
  private readonly parts: PartitionParts;
  private readonly table: SessionTable;
  private readonly settler: Settler;
  private readonly timers: Timers;
  private readonly closed: ClosedSessions;
  private readonly marks: ReadonlyMap<string, number>;
  private readonly acceptance: AcceptanceState;
  private readonly history: AcceptanceHistory;
  private readonly queue: Queued[] = [];
  /** Offset of the next record to take, and of the next one to be queued. */
  private expected: number;
  private queuedTo: number;
  private end: number;
  private pumping = false;
  private halted = false;
  private paused = false;
  private claimed = false;
  private lastSession = '';
  private assigned = true;
  private foreign = 0;

  constructor(name: PartitionName, parts: PartitionParts, bounds: { low: number; high: number }) {
    this.name = name;
    this.parts = parts;
    const { ports, identity, presence, writer, watermarks } = parts;
    this.closed = new ClosedSessions(name, watermarks.closedAt(name));
    const start = startOf(parts, name, bounds);
    this.marks = start.marks;
    this.acceptance = start.acceptance;
    this.history = new AcceptanceHistory(start.offset, start.acceptance);
    this.expected = start.offset;
    this.queuedTo = start.offset;
    this.end = bounds.high;
    this.effects = new EffectTable({ ports, writer, identity }, (session) => this.nudge(session));
    const names = parts.services.map((service) => service.logic.name);
    this.ownership = new Ownership(
      name,
      { services: names, identity },
      { ports, presence, writer },
    );
    this.timers = new Timers({ ports, writer, owns: (service) => this.ownership.owns(service) });
    this.table = new SessionTable(parts.services, this.closed);
    this.settler = new Settler({
      ...parts,
      ownership: this.ownership,
      effects: this.effects,
      onSettle: (session) => this.settle(session),
    });
  }

  /** Where reading starts, in offsets. */
  get position(): number {
    return this.queuedTo;
  }

  get caughtUp(): boolean {
    return this.expected >= this.end;
  }

  get isAssigned(): boolean {
    return this.assigned;
  }

  get idle(): boolean {
    return this.queue.length === 0 && this.effects.size === 0 && !this.parts.writer.busy;
  }

  /** Whether this host owns all its services here. */
  get ready(): boolean {
    return this.ownership.epochs.size === this.parts.services.length;
  }

  get sessions(): SessionTable {
    return this.table;
  }

  /** Starts right away when there is nothing to read first. */
  begin(): void {
    this.claimWhenReady();
  }

  /** The group took the partition away. Running effects stay until their outcomes were read. */
  standDown(): void {
    this.assigned = false;
    this.claimed = false;
    this.ownership.release();
    this.timers.clear();
  }

  /** The group gave it back: what was appended meanwhile must be read before anything is decided. */
  standUp(high: number): void {
    this.assigned = true;
    this.end = Math.max(this.end, high);
    this.claimWhenReady();
  }

  /** Records from the reader. */
  take(records: readonly LogRecord[]): void {
    for (const record of records) {
      if (record.offset < this.queuedTo) continue;
      this.queue.push(record);
      this.queuedTo = record.offset + 1;
    }
    if (this.queue.length > limits.partitionQueueMax && !this.paused) this.flow(true);
    this.pump();
  }

  /** Back-pressure: the reader waits while the queue is long. */
  private flow(pause: boolean): void {
    this.paused = pause;
    if (pause) this.parts.reading.pause(this.name);
    else this.parts.reading.resume(this.name);
  }

  /** Records of our own, as acknowledged: taken at once if nothing lies between (the short cut). */
  takeOwn(records: readonly PlacedRecord[]): boolean {
    if (records[0]?.offset !== this.queuedTo) return false;
    for (const record of records) {
      this.queue.push(record);
      this.queuedTo = record.offset + 1;
    }
    this.pump();
    return true;
  }

  private pump(): void {
    if (this.pumping) return;
    this.pumping = true;
    this.drain()
      .catch((thrown: unknown) => this.halt(toError(thrown)))
      .finally(() => {
        this.pumping = false;
      });
  }

  private async drain(): Promise<void> {
    while (this.queue.length > 0 && !this.halted) {
      const next = this.queue.shift() as Queued;
      if (this.paused && this.queue.length < limits.partitionQueueMax / 5) this.flow(false);
      if (next.offset < this.expected) continue;
      this.checkPosition(next);
      if (isPlaced(next)) this.process(next.header, next);
      else await this.processRead(next);
      this.expected = next.offset + 1;
      this.claimWhenReady();
      if (isPlaced(next) || next.headers['lr_kind'] !== undefined) this.afterRecord();
    }
  }

  private checkPosition(next: Queued): void {
    if (next.offset === this.expected) return;
    throw new LongreinError(
      'LOG_GAP',
      `${this.name.topic}/${this.name.partition}: expected offset ${this.expected}, got ${next.offset}`,
      {
        fix: 'records are missing from the log; restore the topic from a replica or a backup, then start again',
      },
    );
  }

  private halt(error: Error): void {
    this.halted = true;
    this.ownership.release();
    this.timers.clear();
    const known = error instanceof LongreinError ? error : undefined;
    const wrapped = known ?? new LongreinError('PARTITION_FAILED', error.message, { cause: error });
    this.parts.onHalt(this.name, wrapped);
  }

  private afterRecord(): void {
    if (this.lastSession !== '') this.settle(this.lastSession);
    this.lastSession = '';
  }

  private async processRead(record: LogRecord): Promise<void> {
    const header = parseHeader(record.headers);
    if (header === undefined) {
      this.foreign += 1;
      if (this.foreign === 1)
        this.parts.ports.logger.warn(
          { ...this.name, offset: record.offset },
          'record of another program ignored',
        );
      return;
    }
    const placed = { offset: record.offset, header };
    if (!this.wantsBody(header)) {
      this.process(header, placed);
      return;
    }
    const body = await readBody(record, this.parts.ports);
    this.process(header, body === undefined ? placed : { ...placed, body });
  }

  /** Bodies that nobody here would look at are not decoded. */
  private wantsBody(header: RecordHeader): boolean {
    if (header.kind === 'input' || header.kind === 'turn') return true;
    return header.kind === 'checkpoint' && this.table.wantsCheckpoint(header);
  }

  private process(
    header: RecordHeader,
    record: Omit<PlacedRecord, 'body'> & { body?: RecordBody },
  ): void {
    const accepted = accept(this.acceptance, header);
    if (header.kind === 'epoch') {
      this.readEpoch(header);
      return;
    }
    const { session } = header;
    this.lastSession = session;
    if (header.kind === 'input') this.effects.readBack(header.id);
    if (accepted && record.body !== undefined) this.fold(record as PlacedRecord);
    else if (accepted && header.kind === 'checkpoint')
      this.table.noteCheckpoint(header, record.offset);
    this.settler.landed(this.table.get(session), header.id);
  }

  private readEpoch(header: RecordHeader): void {
    const { won, lost } = this.ownership.read(header, this.acceptance);
    if (lost.length > 0)
      this.parts.ports.logger.info({ ...this.name, lost }, 'another host took over');
    if (won.length === 0) return;
    this.parts.ports.logger.info({ ...this.name, won, number: header.epoch }, 'partition owned');
    for (const slot of this.table.slots()) {
      this.timers.rearm(slot);
      this.settler.kick(slot);
      this.settle(slot.session);
    }
  }

  private fold(record: PlacedRecord): void {
    if (record.body.kind === 'checkpoint') {
      this.table.restore(record, this.marks);
      return;
    }
    const folded = this.table.fold(record, { catchingUp: !this.caughtUp, marks: this.marks });
    if (folded === undefined) return;
    const { slot, came } = folded;
    this.effects.cancelForbidden(slot.session, (service) => slot.seats.get(service)?.entry.state);
    if (came) this.startEffects(slot.session, record);
    this.timers.arm(slot);
    if (slot.core?.status === 'closed') this.close(slot.session, record);
  }

  private close(session: string, record: PlacedRecord): void {
    this.closed.add(session, { offset: record.offset, atMs: record.body.atMs });
    this.timers.drop(session);
    this.table.remove(session);
  }

  /** Claims of this process, read back: their effects may start now. */
  private startEffects(session: string, record: PlacedRecord): void {
    const { header, body, offset } = record;
    const own = header.kind === 'turn' && header.incarnation === this.parts.identity.incarnation;
    if (!own || body.kind !== 'turn' || offset < this.end) return;
    const seat = this.table.get(session)?.seats.get(header.service);
    const service = this.parts.services.find((one) => one.logic.name === header.service);
    if (seat === undefined || service?.effects === undefined) return;
    for (const claim of this.table.claimsOf(record)) {
      this.effects.start(service, {
        claim,
        state: seat.entry.state,
        session: seat.entry.core.meta,
        traceparent: header.traceparent,
        owned: this.ownership.owns(header.service),
      });
    }
  }

  private claimWhenReady(): void {
    if (!this.assigned || !this.caughtUp || this.halted) return;
    if (this.claimed) return;
    this.claimed = true;
    this.table.dropUnknown();
    this.ownership.ask(this.acceptance);
  }

  private settle(session: string): void {
    if (!this.caughtUp || this.halted) return;
    const slot = this.table.get(session);
    if (slot !== undefined) this.settler.settle(slot, this.acceptance);
  }

  nudge(session: string): void {
    const slot = this.table.get(session);
    if (slot === undefined) return;
    this.settler.kick(slot);
    this.settle(session);
  }

  /** Facts that are not in the log may have changed (presence, clock): look at sessions with open claims. */
  look(): void {
    for (const slot of this.table.slots()) {
      if (!this.settler.hasLost(slot)) continue;
      this.settler.kick(slot);
      this.settle(slot.session);
    }
  }

  /** Writes checkpoints of sessions that have moved, so that a restore is short. */
  checkpoint(everything: boolean): void {
    if (!this.caughtUp || this.halted) return;
    const least = everything ? 1 : limits.checkpointRecords;
    for (const slot of this.table.slots()) this.settler.checkpoint(slot, least);
  }

  /** The marks of the services that this host owns here. */
  currentMarks(): readonly Watermark[] {
    if (!this.caughtUp || this.halted) return [];
    this.history.add(this.expected, this.acceptance);
    this.table.expireEarlyCancels(this.parts.ports.clock.nowMs() - earlyCancelMs);
    const { topic, partition } = this.name;
    return [...this.ownership.epochs.keys()].map((service) => {
      const needed = this.table.firstNeeded(service, this.expected);
      const { offset, acceptance } = this.history.atOrBefore(needed);
      return { service, topic, partition, offset, acceptance };
    });
  }

  takeClosed(): ReturnType<ClosedSessions['takeChanged']> {
    return this.closed.takeChanged();
  }
}
