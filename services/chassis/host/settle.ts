import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { AppendError } from '../log/append-error.ts';
import type { AcceptanceState } from '../protocol/acceptance.ts';
import { decideEntry, type FactsInput, noFacts } from '../protocol/decision.ts';
import { canonical } from '../protocol/hash.ts';
import { buildTurn, type SealedTurn } from '../protocol/turn.ts';
import { Deliveries } from './deliveries.ts';
import { earlier, foldEarly, startEarly } from './early.ts';
import type { EffectTable } from './effects.ts';
import type { Outlet } from './outlet.ts';
import type { HostIdentity, Ownership } from './ownership.ts';
import type { HostedService, HostPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import type { Seat, Slot } from './slot.ts';
import { standsBy } from './standing-by.ts';
import type { DraftRecord, PartitionWriter } from './writer.ts';

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
  /** A delivery was acknowledged, or a batch was dropped: the session may have something to decide. */
  onSettle: (session: string) => void;
}>;

type EndedDeliveries = Pick<FactsInput, 'delivered' | 'refused'>;

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
 * The broker takes less than this release thinks, and refused these turns for themselves: the largest would be decided
 * and refused for ever, so its service says that it cannot decide (DESIGN 3.2).
 */
function noteRefusedTurn(slot: Slot, turns: readonly SealedTurn[], error: AppendError): void {
  const bytesOf = ({ body }: SealedTurn): number => JSON.stringify(body).length;
  const [largest] = turns.toSorted((left, right) => bytesOf(right) - bytesOf(left));
  if (largest === undefined) return;
  const message = `the broker will not take the turn of ${bytesOf(largest)} bytes: ${error.message}`;
  slot.turnRefused.set(largest.body.service, { code: 'TURN_REFUSED', message });
}

/** As the record will say it, members in canonical order: the decision and its recomputation see the same. */
const sorted = <T extends object>(value: T): T => JSON.parse(canonical(value)) as T;

/**
 * Decides what is due in a session and appends it as one batch (DESIGN 3.4 to 3.7). One batch of a session is on the
 * way at a time; what it brings is folded when it is read back, like everyone's.
 */
export class Settler {
  private readonly parts: SettlerParts;
  private readonly deliveries: Deliveries;

  constructor(parts: SettlerParts) {
    this.parts = parts;
    const owns = (service: string): boolean => parts.ownership.owns(service);
    this.deliveries = new Deliveries({ ...parts, owns });
  }

  kick(slot: Slot): void {
    for (const seat of slot.seats.values()) seat.kick = true;
  }

  settle(slot: Slot): void {
    if (slot.inFlight.size > 0 && !ablated('6a')) return;
    const turns: (SealedTurn & { traceparent: string })[] = [];
    for (const service of this.parts.services) {
      const seat = slot.seats.get(service.logic.name);
      if (seat?.known !== true || standsBy(seat)) continue;
      const owned = this.parts.ownership.owns(service.logic.name);
      if (owned || ablated('12a')) this.deliveries.send(slot, seat);
      if (!owned) continue;
      const turn = this.decide(service, seat, slot);
      if (turn !== undefined) turns.push(turn);
    }
    if (turns.length > 0) this.append(slot, turns);
  }

  /** A record of ours was read, effective or void: its batch may be complete. */
  landed(slot: Slot | undefined, recordId: string): void {
    slot?.inFlight.delete(recordId);
  }

  hasLost(slot: Slot): boolean {
    return this.parts.services.some(({ logic }) => {
      const seat = slot.seats.get(logic.name);
      if (seat?.known !== true || !this.parts.ownership.owns(logic.name)) return false;
      return !standsBy(seat) && Object.keys(this.lost(seat)).length > 0;
    });
  }

  private lost(seat: Seat): ReturnType<EffectTable['lostCalls']> {
    const { effects, presence } = this.parts;
    return effects.lostCalls(seat.logic.name, seat.entry.core, (one) => presence.isGone(one));
  }

  private decide(
    service: HostedService,
    seat: Seat,
    slot: Slot,
  ): (SealedTurn & { traceparent: string }) | undefined {
    const ended = endedDeliveries(slot, seat);
    const nothing = ended.delivered.length === 0 && ended.refused === undefined;
    if (seat.entry.causes.length === 0 && !seat.kick && nothing) return undefined;
    seat.kick = false;
    const turnRefused = slot.turnRefused.get(service.logic.name);
    const facts = {
      ...this.factsOf(service, seat, ended),
      ...(turnRefused === undefined ? {} : { turnRefused }),
    };
    const drafts = decideEntry(service.logic, seat.entry, facts);
    if (drafts.length === 0) {
      // DESIGN 3.7: a cause decided to nothing is not open.
      if (seat.entry.causes.length > 0) seat.entry = { ...seat.entry, causes: [] };
      return undefined;
    }
    const epoch = this.parts.ownership.epochOf(service.logic.name) ?? 0;
    const { incarnation, release } = this.parts.identity;
    const author = { epoch, incarnation, release };
    const turn = buildTurn(service.logic, ablated('4b') ? earlier(seat.entry) : seat.entry, {
      ...{ drafts, author, foreseen: [] },
      facts: ablated('4a') ? noFacts(facts.nowMs) : facts,
    });
    return { ...turn, traceparent: this.trace(slot, seat, turn) };
  }

  private trace(slot: Slot, seat: Seat, turn: SealedTurn): string {
    const cause = seat.entry.causes[0]?.event.record ?? '';
    const parent = slot.traces.get(cause) ?? slot.traceparent;
    const types = turn.body.events.map((event) => event.type).join(',');
    return this.parts.ports.tracer.step(`decide ${seat.logic.name}`, {
      parent,
      seed: turn.id,
      attributes: {
        'longrein.session': slot.session,
        'longrein.turn': turn.id,
        'longrein.events': types,
      },
    });
  }

  private factsOf(service: HostedService, seat: Seat, ended: EndedDeliveries): FactsInput {
    const { core, state } = seat.entry;
    const clockMs = this.parts.ports.clock.nowMs();
    const nowMs = ablated('10d') ? clockMs : Math.max(core.last.atMs, clockMs);
    const lost = this.lost(seat);
    const moment = { nowMs, lost, openCalls: core.calls };
    const gathered = service.facts?.(state, core.meta, moment) ?? { facts: {} };
    return {
      nowMs,
      ...ended,
      lost,
      service: sorted(gathered.facts),
      attachments: sorted(gathered.attachments ?? {}),
    };
  }

  private append(slot: Slot, turns: readonly (SealedTurn & { traceparent: string })[]): void {
    const { acceptance, ownership, writer } = this.parts;
    const forget = (): void => {
      for (const turn of turns) slot.inFlight.delete(turn.id);
      this.kick(slot);
      // Ownership may have been won again before the batch was dropped; nothing else would come to decide it.
      this.parts.onSettle(slot.session);
    };
    for (const turn of turns) slot.inFlight.add(turn.id);
    if (ablated('3a')) foldEarly(slot, turns);
    if (ablated('9a')) startEarly(slot, turns, this.parts);
    const records: DraftRecord[] = turns.map(({ id, body, traceparent }) => ({
      id,
      body,
      traceparent,
    }));
    writer.push({
      records,
      stale: () => turns.some(({ body }) => ownership.epochOf(body.service) !== body.epoch),
      onDropped: forget,
      onRefused: (error, alone) => {
        if (alone && !error.mendable) noteRefusedTurn(slot, turns, error);
        ownership.renew(acceptance);
        forget();
      },
    });
  }
}
