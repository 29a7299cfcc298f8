import { ablated } from '../ablation.ts';
import type { LongreinError } from '../errors.ts';
import type { LogRecord, PartitionName } from '../log/port.ts';
import type { PlacedRecord, RecordHeader, Refused } from '../protocol/record.ts';
import { Caution } from './caution.ts';
import { ownClaims } from './claims-read-back.ts';
import { ClosedSessions } from './closed-sessions.ts';
import { EffectTable } from './effects.ts';
import { FusingWriter } from './fusing-writer.ts';
import { IgnoredRecords } from './ignored-records.ts';
import { lookOver } from './look-over.ts';
import { Ownership } from './ownership.ts';
import { PartitionLog, type ReadRecord } from './partition-log.ts';
import type { PartitionParts } from './partition-parts.ts';
import { SessionTable } from './session-table.ts';
import { Settler } from './settle.ts';
import type { Slot } from './slot.ts';
import { StandByNotice, type StandsBy, standsByIn } from './standing-by.ts';
import { startOf } from './start-position.ts';
import { Timers } from './timers.ts';
import { Upkeep } from './upkeep.ts';
import { noteTurn } from './void-turns.ts';
import type { Watermark } from './watermarks.ts';

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
  readonly caution: Caution;
  private readonly parts: PartitionParts;
  private readonly table: SessionTable;
  private readonly settler: Settler;
  private readonly upkeep: Upkeep;
  private readonly timers: Timers;
  readonly closed: ClosedSessions;
  readonly ignored: IgnoredRecords;
  private readonly marks: ReadonlyMap<string, number>;
  readonly log: PartitionLog;
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
      onHalt: (error: LongreinError) => {
        this.stopServing();
        parts.onHalt(name, error);
      },
      onIgnored: (record: LogRecord, reason: Refused) => this.ignored.note(record, reason),
    };
    this.log = new PartitionLog({ ...parts, ...events, partition: name }, { ...start, ...bounds });
    const slotOf = (session: string): Slot | undefined => this.table.get(session);
    const inputs = new FusingWriter(parts, (batch, input) => {
      const slot = this.deciding ? slotOf(input.body.session) : undefined;
      return slot !== undefined && this.settler.fuse(slot, batch, input);
    });
    this.effects = new EffectTable({ ...parts, writer: inputs }, (one) => this.nudge(one));
    const services = parts.services.map(({ logic }) => logic.name);
    this.ownership = new Ownership(name, { services, identity }, { ports, presence, writer });
    const owns = (service: string): boolean => this.ownership.owns(service);
    this.ignored = new IgnoredRecords({ ...parts, at: name, owns });
    const epochOf = (service: string): number | undefined => this.ownership.epochOf(service);
    this.timers = new Timers({ ports, writer: inputs, ...identity, epochOf, slotOf });
    this.table = new SessionTable(parts.services, this.closed);
    const owned = { ...parts, ownership: this.ownership, acceptance: this.log.acceptance };
    const onSettle = (session: string): void => this.settle(session);
    this.caution = new Caution({ ...owned, at: name, table: this.table, settle: onSettle });
    const { table, effects, ignored, caution } = this;
    this.settler = new Settler({ ...owned, effects, caution, place: name, onSettle });
    this.upkeep = new Upkeep(name, { ...owned, log: this.log, table, ignored });
  }

  /** Offset of the next record to take: where reading starts. */
  get position(): number {
    return this.log.expected;
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
    this.stopServing();
    if (ablated('9d')) this.effects.forget();
  }

  /** The group gave it back: what was appended meanwhile must be read before anything is decided. */
  standUp(high: number): void {
    this.assigned = true;
    this.log.raiseEnd(high);
    this.parts.watch.begin();
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
    return this.notice.isSilent ? undefined : standsByIn(this.table.slots());
  }

  /** It cannot be read any more: whoever can must find that nobody serves it. */
  stopServing(): void {
    this.ownership.release();
    this.caution.end();
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
      this.readEpoch(header, record.offset);
      return;
    }
    const { session } = header;
    this.lastSession = session;
    if (header.kind === 'input') this.effects.readBack(header.id);
    if (accepted && record.body !== undefined) this.fold(record as PlacedRecord);
    else if (accepted && header.kind === 'checkpoint')
      this.table.noteCheckpoint(header, record.offset);
    else if (!accepted && this.ownership.wrote(header))
      this.ownership.renewVoid(this.log.acceptance);
    this.settler.landed(this.table.get(session), header.id);
  }

  private readEpoch(header: RecordHeader, offset: number): void {
    this.caution.saw(header, offset, this.marks);
    const { won, lost } = this.ownership.read(header, this.log.acceptance);
    if (lost.length > 0)
      this.parts.ports.logger.info({ ...this.name, lost }, 'another host took over');
    if (won.length === 0) return;
    this.parts.watch.owned(won, header.epoch);
    const from = { slots: this.table.slots(), position: this.log.expected };
    this.caution.begin(this.ownership.predecessors, from, won);
    this.act();
  }

  /** Ownership was won: all that is due is looked at. */
  private act(): void {
    this.ignored.send();
    const { table, timers, settler, caution } = this;
    const { clock } = this.parts.ports;
    const settle = (session: string): void => this.settle(session);
    lookOver(table.sessions, { table, timers, settler, clock, settle, caution });
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
    this.parts.watch.saw(record, folded.events, this.log.wasThere(record.offset));
    if (this.ownership.wrote(record.header)) noteTurn(slot, record.header, came, this.parts.ports);
    this.notice.look(slot);
    this.effects.cancelForbidden(slot.session, (service) => slot.seats.get(service)?.entry.state);
    if (came) this.startEffects(slot, record);
    this.timers.arm(slot);
    if (slot.core?.status === 'closed') this.close(slot.session, record);
  }

  private close(session: string, record: PlacedRecord): void {
    this.closed.add(session, { offset: record.offset, atMs: record.body.atMs });
    this.timers.drop(session);
    this.table.remove(session);
  }

  /** Claims of this process, read back: their effects may start now. Never for what was there at assignment. */
  private startEffects(slot: Slot, record: PlacedRecord): void {
    const before = this.log.wasThere(record.offset) && !ablated('9b');
    if (before || ablated('9a')) return;
    const found = ownClaims(record, slot, this.parts);
    const claims = this.table.claimsOf(record);
    if (found !== undefined) this.effects.startAll(found.service, claims, found.at);
  }

  /** Asks for the partition once all that was there has been read; right away where there was nothing. */
  claimWhenReady(): void {
    if (!this.assigned || !this.caughtUp || this.log.halted || this.claimed) return;
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

  /** Whether anything may be decided here. */
  private get deciding(): boolean {
    return this.caughtUp && !this.log.halted && !this.draining;
  }

  private settle(session: string): void {
    if (!this.deciding) return;
    const slot = this.table.get(session);
    if (slot === undefined) return;
    this.upkeep.landed(slot);
    this.settler.settle(slot);
  }

  nudge(session: string): void {
    const slot = this.table.get(session);
    if (slot === undefined) return;
    this.settler.kick(slot);
    this.settle(session);
  }

  /** Facts that are not in the log may have changed (presence, clock): look at sessions with open claims. */
  look(): void {
    for (const slot of this.ownership.epochs.size > 0 ? this.table.slots() : []) {
      const seats = this.settler.withLostCalls(slot);
      for (const seat of seats) seat.kick = true;
      if (seats.length > 0) this.settle(slot.session);
    }
  }

  /** Keeps the partition short to restore and small in memory; all of it, until then, where the host is about to end. */
  checkpoint(untilMs?: number): void {
    if (!this.caughtUp || this.log.halted) return;
    if (untilMs === undefined) this.upkeep.round();
    else this.upkeep.checkpointAll(untilMs);
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
