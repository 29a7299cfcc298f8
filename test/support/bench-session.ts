import type { ContentDraft, Draft, InputEventType, SeenEvent } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { hashOf } from '../../services/chassis/protocol/hash.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';
import type {
  LostReason,
  OpenCall,
  ServiceLogic,
  SessionMeta,
} from '../../services/chassis/protocol/service-logic.ts';

/**
 * One session in memory, without chassis or log: events in order, each logic's fold, decisions in a fixed order.
 * For given/when/then tests of pure logic. Claims, timers and deliveries are not interpreted: a test plays them.
 */
type Loaded = {
  logic: ServiceLogic<unknown, JsonObject>;
  facts: () => { facts: JsonObject; attachments?: Readonly<Record<string, JsonValue>> };
  state: unknown;
  pending: SeenEvent[];
};

export type LogicEntry = Readonly<{
  logic: unknown;
  facts?: () => { facts: JsonObject; attachments?: Readonly<Record<string, JsonValue>> };
}>;

export class BenchSession {
  readonly meta: SessionMeta;
  readonly events: SeenEvent[] = [];
  nowMs: number;
  openCalls: Record<string, OpenCall> = {};
  lost: Record<string, LostReason> = {};
  private readonly loaded: Loaded[];
  private records = 0;

  constructor(entries: readonly LogicEntry[], meta: Partial<SessionMeta> = {}, nowMs = 1_000_000) {
    this.meta = { session: 'ses_test', tenant: 'acme', principal: 'user:ada', labels: {}, ...meta };
    this.nowMs = nowMs;
    this.loaded = entries.map((entry) => {
      const logic = entry.logic as ServiceLogic<unknown, JsonObject>;
      const facts = entry.facts ?? (() => ({ facts: {} }));
      return { logic, facts, state: logic.initial(), pending: [] };
    });
  }

  /** One input from outside, folded by every logic. */
  input(draft: Draft<InputEventType>, source = 'outside'): SeenEvent {
    return this.append([draft], source)[0] as SeenEvent;
  }

  /** Writes events as if this service had decided them. */
  append(drafts: readonly Draft[], service: string): SeenEvent[] {
    const record = `rec_${hashOf([this.meta.session, service, this.records++]).slice(0, 12)}`;
    const salt = saltOf(this.meta.session);
    const seen = drafts.map((draft, index) => {
      const sealed = sealEvent(salt, draft);
      const rest = { record, index, service, incarnation: 'inc_test', atMs: this.nowMs };
      return { content: {}, ...sealed, ...rest } as unknown as SeenEvent;
    });
    for (const event of seen) this.fold(event);
    return seen;
  }

  private fold(event: SeenEvent): void {
    this.events.push(event);
    for (const one of this.loaded) {
      one.state = one.logic.evolve(one.state, event);
      if (event.service !== one.logic.name && one.logic.answers(event)) one.pending.push(event);
    }
  }

  /** What a logic proposes now, without writing it. */
  propose(name: string): readonly Draft[] {
    const one = this.find(name);
    const { facts, attachments } = one.facts();
    return one.logic.decide(one.state, {
      session: this.meta,
      nowMs: this.nowMs,
      facts,
      attachments: attachments ?? {},
      causes: one.pending,
      openCalls: this.openCalls,
      lost: this.lost,
    });
  }

  /** Lets all logics decide until nobody proposes anything. Returns the events written. */
  settle(roundsMax = 1000): SeenEvent[] {
    const from = this.events.length;
    for (let round = 0; round < roundsMax; round++) {
      let moved = false;
      for (const one of this.loaded) {
        const drafts = this.propose(one.logic.name);
        one.pending = [];
        if (drafts.length === 0) continue;
        moved = true;
        this.append(drafts, one.logic.name);
      }
      if (!moved) return this.events.slice(from);
    }
    throw new Error(`not settled after ${roundsMax} rounds: a logic is not level-triggered`);
  }

  state<S>(name: string): S {
    return this.find(name).state as S;
  }

  typesOf(events: readonly SeenEvent[] = this.events): string[] {
    return events.map((event) => event.type);
  }

  private find(name: string): Loaded {
    const one = this.loaded.find((entry) => entry.logic.name === name);
    if (one === undefined) throw new Error(`no logic ${name} on this bench`);
    return one;
  }
}

/** JSON content for tests. */
export const json = (body: JsonValue): ContentDraft => ({ mediaType: 'application/json', body });
