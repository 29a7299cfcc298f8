import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { AppendError } from '../log/append-error.ts';
import type { AcceptanceState } from '../protocol/acceptance.ts';
import type { LogPlace } from '../protocol/record.ts';
import { Cascade, type OwnInput } from './cascade.ts';
import type { Caution } from './caution.ts';
import type { DecidedTurn } from './decided-turn.ts';
import { type ChassisFacts, Decider } from './decider.ts';
import { Deliveries } from './deliveries.ts';
import { foldEarly, startEarly } from './early.ts';
import type { EffectTable } from './effects.ts';
import type { Outlet } from './outlet.ts';
import type { HostIdentity, Ownership } from './ownership.ts';
import type { HostedService, HostPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import type { Seat, Slot } from './slot.ts';
import { standsBy } from './standing-by.ts';
import type { Batch, PartitionWriter } from './writer.ts';

export type SettlerParts = Readonly<{
  ports: HostPorts;
  identity: HostIdentity;
  services: readonly HostedService[];
  presence: Presence;
  outlet: Outlet;
  writer: PartitionWriter;
  ownership: Ownership;
  /** Of the partition, as it moves. */
  acceptance: AcceptanceState;
  effects: EffectTable;
  caution: Pick<Caution, 'of' | 'names' | 'inherited'>;
  place: LogPlace;
  /** A delivery was acknowledged, or a batch was dropped: the session may have something to decide. */
  onSettle: (session: string) => void;
}>;

type EndedDeliveries = Pick<ChassisFacts, 'delivered' | 'refused'>;

/** Open deliveries of which the broker said what becomes of them; so many as one turn can close. */
function endedDeliveries(slot: Slot, seat: Seat): EndedDeliveries {
  const open = Object.keys(seat.entry.outbox);
  const most = limits.turnDeliveriesMax;
  const delivered = open.filter((address) => slot.acknowledged.has(address)).slice(0, most);
  const refused = open.flatMap((address) => {
    const why = slot.refused.get(address);
    return why === undefined ? [] : [[address, why] as const];
  });
  if (refused.length === 0) return { delivered };
  return { delivered, refused: Object.fromEntries(refused.slice(0, most)) };
}

/**
 * The broker takes less than this release thinks, and refused these records for themselves. Several may go one by one; one
 * alone would be decided and refused for ever, so its service says that it cannot decide (DESIGN 3.2).
 */
function noteRefused(slot: Slot, records: Cascade['records'], error: AppendError): void {
  const [only] = records;
  if (records.length > 1) slot.singly = true;
  if (records.length !== 1 || only?.body.kind !== 'turn') return;
  const bytes = JSON.stringify(only.body).length;
  const message = `the broker will not take the turn of ${bytes} bytes: ${error.message}`;
  slot.turnRefused.set(only.body.service, { code: 'TURN_REFUSED', message });
}

/**
 * Decides what is due in a session, with what the services of this host answer to that, and appends it as one batch
 * (DESIGN 3.4 to 3.7). One batch of a session is on the way at a time; what it brings is folded when it is read back,
 * like everyone's.
 */
export class Settler {
  private readonly parts: SettlerParts;
  private readonly deliveries: Deliveries;
  private readonly decider: Decider;

  constructor(parts: SettlerParts) {
    this.parts = parts;
    const owns = (service: string): boolean => parts.ownership.owns(service);
    this.deliveries = new Deliveries({ ...parts, owns });
    this.decider = new Decider(parts);
  }

  kick(slot: Slot): void {
    for (const seat of slot.seats.values()) seat.kick = true;
  }

  settle(slot: Slot): void {
    if (slot.inFlight.size > 0 && !ablated('6a')) return;
    this.deliver(slot);
    const services = this.deciding(slot);
    const cascade = new Cascade(slot, services, this.decider);
    for (const service of services) {
      const seat = slot.seats.get(service.logic.name) as Seat;
      const turn = this.decide(service, seat, slot);
      // What does not fit is decided again when the batch was read back.
      if (turn !== undefined && !cascade.add(turn)) seat.kick = true;
    }
    if (cascade.turns.length === 0) return;
    // What is named is decided by itself: else nobody knows what killed a host.
    if (!this.parts.caution.names(slot.session)) cascade.run();
    this.append(slot, cascade);
  }

  private deliver(slot: Slot): void {
    for (const { logic } of this.parts.services) {
      const seat = slot.seats.get(logic.name);
      if (seat?.known !== true || standsBy(seat)) continue;
      if (this.parts.ownership.owns(logic.name) || ablated('12a')) this.deliveries.send(slot, seat);
    }
  }

  /** The services of this host that may decide in this session. */
  private deciding(slot: Slot): readonly HostedService[] {
    return this.parts.services.filter(({ logic }) => this.mayDecide(slot, logic.name));
  }

  private mayDecide(slot: Slot, service: string): boolean {
    const seat = slot.seats.get(service);
    if (seat?.known !== true || standsBy(seat)) return false;
    return this.parts.ownership.owns(service) && this.decider.may(slot, service) !== 'later';
  }

  /** A record of ours was read, effective or void: its batch may be complete. */
  landed(slot: Slot | undefined, recordId: string): void {
    if (slot?.inFlight.delete(recordId) === true && slot.inFlight.size === 0)
      slot.foresight = undefined;
  }

  /**
   * Seats that lost a call and may say so now. Asked of every session with every heartbeat: those in which nothing is lost
   * must cost little, and what is on the way already is not to be decided twice.
   */
  withLostCalls(slot: Slot): readonly Seat[] {
    if (slot.inFlight.size > 0) return [];
    const claimants = new Set(Object.values(slot.core?.calls ?? {}).map(({ service }) => service));
    return [...claimants].flatMap((service) => {
      const seat = slot.seats.get(service);
      const hasLost = seat !== undefined && Object.keys(this.lost(seat)).length > 0;
      return hasLost && this.mayDecide(slot, service) ? [seat] : [];
    });
  }

  private lost(seat: Seat): ReturnType<EffectTable['lostCalls']> {
    const { effects, presence } = this.parts;
    return effects.lostCalls(seat.logic.name, seat.entry.core, (one) => presence.isGone(one));
  }

  /** What is due by what was read. */
  private decide(service: HostedService, seat: Seat, slot: Slot): DecidedTurn | undefined {
    const ended = endedDeliveries(slot, seat);
    const nothing = ended.delivered.length === 0 && ended.refused === undefined;
    const { entry } = seat;
    if (entry.causes.length === 0 && !seat.kick && nothing) return undefined;
    seat.kick = false;
    const turn = this.decider.decide({
      ...{ slot, service, entry, foreseen: nothingForeseen, base: entry.core.last },
      chassis: { ...ended, lost: this.lost(seat) },
    });
    // DESIGN 3.7: a cause decided to nothing is not open.
    if (turn === undefined && entry.causes.length > 0) seat.entry = { ...entry, causes: [] };
    return turn;
  }

  /**
   * Appends an input of this host together with all that its services answer to it (DESIGN 3.5). False where it has to
   * go by itself: nothing answers it, or the session has other things to do first.
   */
  fuse(slot: Slot, batch: Batch, input: OwnInput): boolean {
    if (slot.inFlight.size > 0 || slot.singly) return false;
    const services = this.deciding(slot);
    const isBusy = services.some(({ logic }) => {
      const seat = slot.seats.get(logic.name);
      return seat === undefined || seat.kick || seat.entry.causes.length > 0;
    });
    if (isBusy || this.parts.caution.inherited(slot, input.body.event)) return false;
    const cascade = new Cascade(slot, services, this.decider);
    cascade.begin(input);
    cascade.run();
    if (cascade.turns.length === 0) return false;
    this.append(slot, cascade, batch);
    return true;
  }

  /** `alone`: how the input that begins the cascade goes where the batch does not. */
  private append(slot: Slot, { records, turns, foresight }: Cascade, alone?: Batch): void {
    const { acceptance, ownership, writer } = this.parts;
    slot.foresight = foresight;
    const forget = (): void => {
      for (const turn of turns) slot.inFlight.delete(turn.id);
      if (alone !== undefined) writer.push(alone);
      this.kick(slot);
      // Ownership may have been won again before the batch was dropped; nothing else would come to decide it.
      this.parts.onSettle(slot.session);
    };
    for (const turn of turns) slot.inFlight.add(turn.id);
    if (ablated('3a')) foldEarly(slot, turns);
    if (ablated('9a')) startEarly(slot, records, this.parts);
    const isStale = (): boolean =>
      turns.some(({ body }) => ownership.epochOf(body.service) !== body.epoch);
    writer.push({
      records,
      stale: () => isStale() || alone?.stale?.() === true,
      onDropped: forget,
      onAppended: (baseOffset) => alone?.onAppended?.(baseOffset),
      onRefused: (error, wasAlone) => {
        if (wasAlone && !error.mendable) noteRefused(slot, records, error);
        ownership.renew(acceptance);
        forget();
      },
    });
  }
}

const nothingForeseen: ReadonlyMap<string, string> = new Map();
