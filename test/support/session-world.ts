import type { DataOf, Draft, SeenEvent } from '../../schemas/event.ts';
import { event, json, text } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';
import {
  type AnyLogic,
  addressOf,
  type DecideInput,
  type OpenCall,
  type SessionMeta,
} from '../../services/chassis/protocol/service-logic.ts';
import {
  foldSession,
  sessionFold,
  sessionIsOver,
} from '../../state-machines/session/session-machine.ts';
import { aCall } from './plan-fixtures.ts';

/**
 * One session whose services decide apart: a turn is decided at one place of the log and lands at a
 * later one, as on hosts of their own. A service decides only when an event woke it. The world
 * around them (pools, calls, timers, deliveries) is played by actions that are possible or not; who
 * chooses among them is the test's.
 */

type Service = {
  logic: AnyLogic;
  state: unknown;
  causes: { event: SeenEvent; at: number }[];
  turn: { drafts: readonly Draft[]; base: number } | undefined;
};

type Scheduled = DataOf<'task.scheduled'>;
export type Outcome = 'completed' | 'failed' | 'broken' | 'silent';
export type Action = Readonly<{ name: string; run(): void }>;

export type WorldOptions = Readonly<{
  logics: readonly AnyLogic[];
  attachments: Readonly<Record<string, JsonValue>>;
  facts: JsonObject;
  outcomeOf(task: Scheduled): Outcome;
  outputOf(task: Scheduled): JsonValue;
}>;

export class SessionWorld {
  readonly events: SeenEvent[] = [];
  /** Results that the aggregator's fold took: only these are delivered. */
  readonly results: SeenEvent<'result.published'>[] = [];
  readonly timers = new Map<string, { set: SeenEvent<'timer.set'> }>();
  readonly calls = new Map<string, OpenCall>();
  readonly faults: string[] = [];
  closed = false;
  nowMs = 1_000_000;
  private readonly meta: SessionMeta;
  private readonly services: Service[];
  private readonly work: Action[] = [];
  private readonly options: WorldOptions;
  private records = 0;
  private session = sessionFold.initial();

  constructor(options: WorldOptions) {
    this.options = options;
    this.meta = { session: 'ses_test', tenant: 'acme', principal: 'user:ada', labels: {} };
    this.services = options.logics.map((logic) => {
      return { logic, state: logic.initial(), causes: [], turn: undefined };
    });
  }

  /** All that may happen next. */
  actions(): readonly Action[] {
    if (this.closed) return [];
    const turns = this.services.flatMap((service) => this.turnActions(service));
    return [...turns, ...this.work, ...this.timerActions()];
  }

  input(draft: Draft): void {
    this.append([draft], 'input');
  }

  append(drafts: readonly Draft[], service: string): void {
    const record = `rec_${this.records++}`;
    for (const [index, draft] of drafts.entries()) {
      if (this.closed) return;
      const sealed = sealEvent(saltOf(this.meta.session), draft);
      const rest = { record, index, service, incarnation: 'inc', atMs: this.nowMs };
      this.fold({ content: {}, ...sealed, ...rest } as unknown as SeenEvent);
    }
  }

  private turnActions(service: Service): readonly Action[] {
    const { name } = service.logic;
    if (service.turn !== undefined)
      return [{ name: `land ${name}`, run: () => this.land(service) }];
    if (service.causes.length === 0) return [];
    return [{ name: `decide ${name}`, run: () => this.decide(service) }];
  }

  private timerActions(): readonly Action[] {
    const next = [...this.timers.values()].sort(
      (one, other) => one.set.data.dueAtMs - other.set.data.dueAtMs,
    )[0];
    return next === undefined ? [] : [{ name: 'fire', run: () => this.fire(next.set) }];
  }

  private decide(service: Service): void {
    const drafts = this.propose(service, service.state);
    const stored = this.propose(service, JSON.parse(canonical(service.state)));
    if (canonical(stored) !== canonical(drafts))
      this.faults.push('a stored state decides otherwise');
    const base = this.events.length;
    if (drafts.length === 0) service.causes = [];
    else service.turn = { drafts, base };
  }

  private propose({ logic, causes }: Service, state: unknown): readonly Draft[] {
    const input: DecideInput = {
      session: this.meta,
      nowMs: this.nowMs,
      facts: this.options.facts,
      attachments: this.options.attachments,
      causes: causes.map((cause) => cause.event),
      openCalls: Object.fromEntries(this.calls),
      lost: {},
    };
    return logic.decide(state, input);
  }

  private land(service: Service): void {
    const { turn } = service;
    if (turn === undefined) return;
    const undisturbed = turn.base === this.events.length;
    service.turn = undefined;
    service.causes = service.causes.filter(({ at }) => at >= turn.base);
    this.append(turn.drafts, service.logic.name);
    if (!undisturbed || this.closed) return;
    const again = this.propose(service, service.state).map(({ type }) => type);
    if (again.length > 0) this.faults.push(`${service.logic.name} decides again: ${again}`);
  }

  private fold(seen: SeenEvent): void {
    const at = this.events.length;
    this.events.push(seen);
    this.session = foldSession(this.session, seen);
    for (const service of this.services) {
      const before = service.state;
      service.state = service.logic.evolve(before, seen);
      const own = seen.service === service.logic.name;
      if (own && service.state !== before) this.deliver(service, seen);
      if (!own && service.logic.answers(seen)) service.causes.push({ event: seen, at });
    }
    this.play(seen);
  }

  private deliver({ logic }: Service, seen: SeenEvent): void {
    if (seen.type !== 'result.published' || logic.deliveries === undefined) return;
    this.results.push(seen);
    const destinations = logic.deliveries(seen, this.meta).map(({ topic }) => topic);
    const { record, index } = seen;
    const acknowledged = event('delivery.acknowledged', { record, index, destinations });
    this.later(`acknowledge ${addressOf(seen)}`, () => this.append([acknowledged], logic.name));
  }

  private play(seen: SeenEvent): void {
    if (seen.type === 'session.closed') this.closed = true;
    if (seen.type === 'timer.set') this.timers.set(seen.data.timer, { set: seen });
    if (seen.type === 'timer.cancelled') this.timers.delete(seen.data.timer);
    if (seen.type === 'task.scheduled') this.startAgent(seen.data);
  }

  private fire(set: SeenEvent<'timer.set'>): void {
    const { record, index } = set;
    this.nowMs = Math.max(this.nowMs, set.data.dueAtMs);
    this.timers.delete(set.data.timer);
    this.input(event('timer.fired', { ...set.data, record, index }));
  }

  /**
   * The pool takes the task up with one tool call, unless the session is over by then; agent and
   * call end even where the outcome is silence.
   */
  private startAgent(task: Scheduled): void {
    const agent = `agt_${task.task}_${task.attempt}_${this.events.length}`;
    this.later(`agent ${agent}`, () => {
      if (sessionIsOver(this.session)) return;
      const { attempt, pool } = task;
      const kind = 'procedure' as const;
      const created = { agent, task: task.task, attempt, name: 'worker', version: '1', kind, pool };
      this.calls.set(`call_${agent}`, aCall());
      this.append([event('agent.created', created)], 'worker-pool');
      this.later(`end ${agent}`, () => this.endAgent(agent, task));
    });
  }

  private endAgent(agent: string, task: Scheduled): void {
    const call = `call_${agent}`;
    this.calls.delete(call);
    const data = { call, claim: 'rec#0', attempt: 1, tool: 'read', durationMs: 1 };
    this.input(event('tool.completed', data, { result: json({}) }));
    this.later(`clean ${agent}`, () => {
      const cleaned = event('agent.cleaned-up', { agent });
      this.append([...this.outcome(agent, task), cleaned], 'worker-pool');
    });
  }

  private outcome(agent: string, scheduled: Scheduled): readonly Draft[] {
    const outcome = this.options.outcomeOf(scheduled);
    const { task, attempt } = scheduled;
    if (outcome === 'silent') return [];
    if (outcome === 'completed') {
      const output = json(this.options.outputOf(scheduled));
      return [event('task.completed', { task, attempt, agent }, { output })];
    }
    const retryable = outcome === 'failed';
    const data = { task, attempt, agent, code: 'X', class: 'tool-error' as const, retryable };
    return [event('task.failed', data, { message: text('broke') })];
  }

  private later(name: string, run: () => void): void {
    const action = {
      name,
      run: () => {
        this.work.splice(this.work.indexOf(action), 1);
        run();
      },
    };
    this.work.push(action);
  }
}
