import type { Draft } from '../../../schemas/event.ts';
import { ablated } from '../ablation.ts';
import {
  beginningOf,
  decideEntry,
  type FactsInput,
  hasFailed,
  noFacts,
} from '../protocol/decision.ts';
import { canonical } from '../protocol/hash.ts';
import type { LogPlace, RecordPlace, Refused, TurnBody } from '../protocol/record.ts';
import type { ServiceEntry } from '../protocol/service-fold.ts';
import type { SessionCore } from '../protocol/session-core.ts';
import { buildTurn } from '../protocol/turn.ts';
import { own } from '../telemetry/gen-ai.ts';
import type { Caution } from './caution.ts';
import type { DecidedTurn } from './decided-turn.ts';
import { earlier } from './early.ts';
import type { HostIdentity, Ownership } from './ownership.ts';
import type { HostedService, HostPorts } from './ports.ts';
import type { Slot } from './slot.ts';
import { voidPoison } from './void-turns.ts';

/** Facts that the chassis itself brings to a decision. */
export type ChassisFacts = Pick<FactsInput, 'delivered' | 'refused' | 'lost'>;

/** What one decision is made from. */
export type Occasion = Readonly<{
  slot: Slot;
  service: HostedService;
  /** The state to decide from: with all that was foreseen. */
  entry: ServiceEntry;
  chassis: ChassisFacts;
  /** Records of the same batch before this turn, none of which is in the log yet, with their trace contexts. */
  foreseen: ReadonlyMap<string, string>;
  /** The newest record that is in the log. */
  base: SessionCore['last'];
}>;

export type DeciderParts = Readonly<{
  ports: Pick<HostPorts, 'clock' | 'tracer'>;
  identity: HostIdentity;
  ownership: Pick<Ownership, 'epochOf'>;
  caution: Pick<Caution, 'of'>;
  /** Where the log of the sessions stands. */
  place: LogPlace;
}>;

/** As the record will say it, members in canonical order: the decision and its recomputation see the same. */
const sorted = <T extends object>(value: T): T =>
  Object.keys(value).length === 0 ? value : (JSON.parse(canonical(value)) as T);

/** Lets one service decide, and makes the turn of it (DESIGN 3.4). */
export class Decider {
  private readonly parts: DeciderParts;

  constructor(parts: DeciderParts) {
    this.parts = parts;
  }

  /** Undefined where nothing is due. */
  decide(occasion: Occasion): DecidedTurn | undefined {
    const { entry, service, foreseen, base } = occasion;
    const { logic } = service;
    const { facts, drafts } = this.decided(occasion);
    if (drafts.length === 0) return undefined;
    const { incarnation, release } = this.parts.identity;
    const epoch = this.parts.ownership.epochOf(logic.name) ?? 0;
    const turn = buildTurn(logic, entry, {
      ...{ drafts, author: { epoch, incarnation, release }, foreseen: [...foreseen.keys()] },
      facts: ablated('4a') ? noFacts(facts.nowMs) : facts,
      base: ablated('4b') ? earlier(base) : base,
    });
    return { ...turn, traceparent: this.trace(occasion, turn) };
  }

  /** Whether a service may decide in a session now (DESIGN 3.14); or why it must not try any more. */
  may(slot: Slot, service: string): 'now' | 'later' | Refused {
    const isVoid = voidPoison(slot, service);
    if (isVoid === 'silent') return 'later';
    return isVoid ?? this.parts.caution.of(slot.session, service);
  }

  /** What is decided, and from which facts. For what is poison the service is not even asked for facts. */
  private decided(occasion: Occasion): { facts: FactsInput; drafts: readonly Draft[] } {
    const { entry, service, chassis, slot } = occasion;
    const may = this.may(slot, service.logic.name);
    const facts: FactsInput =
      typeof may === 'string'
        ? this.factsOf(occasion)
        : { ...noFacts(this.nowMs(entry)), ...chassis, poison: may };
    const drafts = decideEntry(service.logic, entry, facts);
    if (!hasFailed(drafts)) return { facts, drafts };
    const placed = { ...facts, origin: this.originOf(occasion) };
    return { facts: placed, drafts: decideEntry(service.logic, entry, placed) };
  }

  /** What was foreseen has no place yet: then it is the newest record that has one. */
  private originOf({ entry, foreseen, base }: Occasion): RecordPlace {
    const { record, offset } = foreseen.size === 0 ? beginningOf(entry) : base;
    return { ...this.parts.place, record, offset };
  }

  private nowMs({ core }: ServiceEntry): number {
    const clockMs = this.parts.ports.clock.nowMs();
    return ablated('10d') ? clockMs : Math.max(core.last.atMs, clockMs);
  }

  private factsOf({ entry, service, chassis, slot }: Occasion): FactsInput {
    const { core, state } = entry;
    const nowMs = this.nowMs(entry);
    const moment = { nowMs, lost: chassis.lost, openCalls: core.calls };
    const gathered = service.facts?.(state, core.meta, moment) ?? { facts: {} };
    const turnRefused = slot.turnRefused.get(service.logic.name);
    return {
      nowMs,
      ...chassis,
      service: sorted(gathered.facts),
      attachments: sorted(gathered.attachments ?? {}),
      ...(turnRefused === undefined ? {} : { turnRefused }),
    };
  }

  private trace(
    { slot, entry, service, foreseen }: Occasion,
    turn: Readonly<{ id: string; body: TurnBody }>,
  ): string {
    const cause = entry.causes[0]?.event.record ?? '';
    const parent = foreseen.get(cause) ?? slot.traces.get(cause) ?? slot.traceparent;
    return this.parts.ports.tracer.step(`decide ${service.logic.name}`, {
      parent,
      seed: turn.id,
      attributes: () => ({
        [own.session]: slot.session,
        [own.turn]: turn.id,
        [own.events]: turn.body.events.map((event) => event.type).join(','),
      }),
    });
  }
}
