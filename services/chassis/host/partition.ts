import { ablated } from '../ablation.ts';
import type { LongreinError } from '../errors.ts';
import type { LogRecord, PartitionName, Reader } from '../log/port.ts';
import type { PlacedRecord, RecordHeader } from '../protocol/record.ts';
import { ClosedSessions } from './closed-sessions.ts';
import { EffectTable } from './effects.ts';
import { lookOver } from './look-over.ts';
import type { Outlet } from './outlet.ts';
import { type HostIdentity, Ownership } from './ownership.ts';
import { PartitionLog, type ReadRecord } from './partition-log.ts';
import type { HostedService, HostPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import { SessionTable } from './session-table.ts';
import { Settler } from './settle.ts';
import type { Slot } from './slot.ts';
import { StandByNotice, type StandsBy, standsBy, standsByIn } from './standing-by.ts';
import { startOf } from './start-position.ts';
import { Timers } from './timers.ts';
import { Upkeep } from './upkeep.ts';
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

/**
 * One partition of a session log as this host works on it: reads in order, accepts, folds, settles.
 *
 * P1 Nothing is decided before all up to the high offset at assignment was read and the own epoch was read.
 * P2 What was read after ownership was lost is still folded: outcomes of running effects must be seen.
 */
export class Partition {
  readonly name: PartitionName;
  readonly effects: EffectTable;
  readonly ownership: Ownership;
  private readonly parts: PartitionParts;
  private readonly table: SessionTable;
  private readonly settler: Settler;
  private readonly upkeep: Upkeep;
  private readonly timers: Timers;
  readonly closed: ClosedSessions;
  private readonly marks: ReadonlyMap<string, number>;
  private readonly log: PartitionLog;
  private readonly notice: StandByNotice;
  private claimed = false;
  private draining = false;
  private lastSession = '';
  /** Whether the group gave us the partition. */
  assigned = true;

  constructor(name: PartitionName, parts: PartitionParts, bounds: { low: number; high: number }) {
    this.name = name;
    this.parts = parts;
    const { ports, identity, presence, writer, watermarks } = parts;
    this.notice = new StandByNotice(name, ports);
    this.closed = new ClosedSessions(name, watermarks.closedAt(name));
    const start = startOf(parts, name, bounds);
    this.marks = start.marks;
    const events = {
      wantsBody: (header: RecordHeader) => this.table.wantsBody(header, !this.caughtUp),
      onRecord: (record: ReadRecord, accepted: boolean) => this.process(record, accepted),
      onTaken: () => this.taken(),
      onHalt: (error: LongreinError) => this.halt(error),
    };
    this.log = new PartitionLog({ ...parts, ...events, partition: name }, { ...start, ...bounds });
    this.effects = new EffectTable({ ports, writer, identity }, (session) => this.nudge(session));
    const names = parts.services.map((service) => service.logic.name);
    this.ownership = new Ownership(
      name,
      { services: names, identity },
      { ports, presence, writer },
    );
    const { incarnation } = identity;
    const epochOf = (service: string): number | undefined => this.ownership.epochOf(service);
    const slotOf = (session: string): Slot | undefined => this.table.get(session);
    this.timers = new Timers({ ports, writer, incarnation, epochOf, slotOf });
    this.table = new SessionTable(parts.services, this.closed);
    const owned = { ...parts, ownership: this.ownership, acceptance: this.log.acceptance };
    const onSettle = (session: string): void => this.settle(session);
    this.settler = new Settler({ ...owned, effects: this.effects, onSettle });
    this.upkeep = new Upkeep(name, { ...owned, log: this.log, table: this.table });
  }

  /** Where reading starts, in offsets. */
  get position(): number {
    return this.log.position;
  }

  get caughtUp(): boolean {
    return this.log.caughtUp;
  }

  get halted(): boolean {
    return this.log.halted;
  }

  /** It cannot be read on: nothing is decided here any more. */
  fail(error: Error): void {
    this.log.halt(error);
  }

  get idle(): boolean {
    return (
      (this.log.empty || this.log.halted) && this.effects.size === 0 && !this.parts.writer.busy
    );
  }

  /** Whether this host owns all its services here. */
  get ready(): boolean {
    return this.ownership.epochs.size === this.parts.services.length;
  }

  /** The group took the partition away. Running effects stay until their outcomes were read. */
  standDown(): void {
    this.assigned = false;
    this.claimed = false;
    this.ownership.release();
    this.timers.clear();
    if (ablated('9d')) this.effects.forget();
  }

  /** The group gave it back: what was appended meanwhile must be read before anything is decided. */
  standUp(high: number): void {
    this.assigned = true;
    this.log.raiseEnd(high);
    this.claimWhenReady();
  }

  /** Records from the reader. */
  take(records: readonly LogRecord[]): void {
    this.log.take(records);
  }

  /** Records of our own, as acknowledged. */
  takeOwn(records: readonly PlacedRecord[]): void {
    this.log.takeOwn(records);
  }

  /** What this host leaves to a newer release here; undefined where it leaves nothing. */
  get standsBy(): StandsBy | undefined {
    return standsByIn(this.table.slots());
  }

  private halt(error: LongreinError): void {
    this.stopServing();
    this.parts.onHalt(this.name, error);
  }

  /** It cannot be read any more: whoever can must find that nobody serves it. */
  stopServing(): void {
    this.ownership.release();
    this.timers.clear();
  }

  private taken(): void {
    this.claimWhenReady();
    if (this.lastSession !== '') this.settle(this.lastSession);
    this.lastSession = '';
  }

  private process(record: ReadRecord, accepted: boolean): void {
    const { header } = record;
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
    const { won, lost } = this.ownership.read(header, this.log.acceptance);
    if (lost.length > 0)
      this.parts.ports.logger.info({ ...this.name, lost }, 'another host took over');
    if (won.length === 0) return;
    this.parts.ports.logger.info({ ...this.name, won, number: header.epoch }, 'partition owned');
    this.act();
  }

  /** Ownership was won: all that is due is looked at. */
  private act(): void {
    const { table, timers, settler } = this;
    const { clock } = this.parts.ports;
    const settle = (session: string): void => this.settle(session);
    lookOver(table.sessions, { table, timers, settler, clock, settle });
  }

  private fold(record: PlacedRecord): void {
    const at = { catchingUp: !this.caughtUp, marks: this.marks };
    if (record.body.kind === 'checkpoint') {
      this.table.restore(record, at);
      const restored = this.table.get(record.header.session);
      if (restored === undefined) return;
      this.notice.look(restored);
      this.timers.arm(restored);
      return;
    }
    const folded = this.table.fold(record, at);
    if (folded === undefined) return;
    const { slot, came } = folded;
    this.notice.look(slot);
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

  /** Claims of this process, read back: their effects may start now. Never for what was there at assignment. */
  private startEffects(session: string, record: PlacedRecord): void {
    const { header, offset } = record;
    const own = header.kind === 'turn' && header.incarnation === this.parts.identity.incarnation;
    const seat = this.table.get(session)?.seats.get(header.service);
    const service = this.parts.services.find((one) => one.logic.name === header.service);
    const before = this.log.wasThere(offset) && !ablated('9b');
    if (!own || before || ablated('9a') || seat === undefined || service === undefined) return;
    // Whether the session still allows the call is not known: its claim is left to the newer release.
    if (standsBy(seat)) return;
    const at = { entry: seat.entry, traceparent: header.traceparent };
    this.effects.startAll(service, this.table.claimsOf(record), at);
  }

  /** Asks for the partition once all that was there has been read; right away where there was nothing. */
  claimWhenReady(): void {
    if (!this.assigned || !this.caughtUp || this.log.halted) return;
    if (this.claimed) return;
    this.claimed = true;
    this.table.dropUnknown();
    this.ownership.ask(this.log.acceptance);
    if (ablated('1a')) this.act();
  }

  /** The host is about to end: running effects may end, and nothing more is decided. */
  drain(): void {
    this.draining = true;
    this.timers.clear();
  }

  private settle(session: string): void {
    if (!this.caughtUp || this.log.halted || this.draining) return;
    const slot = this.table.get(session);
    if (slot !== undefined) this.settler.settle(slot);
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

  /** Keeps the partition short to restore and small in memory; `everything` where the host is about to end. */
  checkpoint(everything: boolean): void {
    if (!this.caughtUp || this.log.halted) return;
    if (everything) this.upkeep.checkpointAll();
    else this.upkeep.round();
  }

  packIdle(quietMs: number): void {
    this.upkeep.packIdle(quietMs);
  }

  /** The marks of the services that this host owns here. */
  currentMarks(): readonly Watermark[] {
    if (!this.caughtUp || this.log.halted) return [];
    return this.upkeep.marks([...this.ownership.epochs.keys()]);
  }
}
