import { type Draft, event, type SeenEvent, type TurnEventType } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import {
  addressOf,
  type OpenCall,
  type ServiceLogic,
} from '../../services/chassis/protocol/service-logic.ts';
import { problemOfDraft } from '../../services/chassis/protocol/validate.ts';
import * as gateway from '../../services/model-gateway/decide.ts';
import * as sandbox from '../../services/sandbox-executor/decide.ts';
import { toolGuardLogic } from '../../services/tool-guard/decide.ts';
import * as runner from '../../services/tool-runner/decide.ts';
import { createWorkerPoolLogic } from '../../services/worker-pool/decide.ts';
import { BenchSession } from './bench-session.ts';
import { answered, completed, failedCall, failedModel, pool, type Said } from './work-fixtures.ts';

/**
 * The services that carry work out, each on a host of its own, with the part of the chassis that
 * they see: turns that land after others were written, claims, effects that end, fail or get lost,
 * late outcomes, timers. Driven by numbers, so that a property test finds the order that breaks
 * something.
 */

type Claim = SeenEvent<'tool.claimed'> | SeenEvent<'model.claimed'>;
type Call = OpenCall & Readonly<{ claims: readonly string[] }>;

export const logics: readonly ServiceLogic<never, never>[] = [
  createWorkerPoolLogic(pool),
  toolGuardLogic,
  runner.toolRunnerLogic,
  sandbox.sandboxExecutorLogic,
  gateway.modelGatewayLogic,
] as unknown as readonly ServiceLogic<never, never>[];

const factsOf: Readonly<Record<string, JsonObject>> = {
  'sandbox-executor': { isolation: 'wasm-quickjs' },
  'model-gateway': { providers: ['scripted'] },
};

export class WorkWorld {
  readonly bench: BenchSession;
  /** How often the effect of each call was started. */
  readonly started: Record<string, number> = {};
  readonly running: Claim[] = [];
  /** Effects that nobody counts on any more; their outcomes may still come. */
  private readonly forgotten: Claim[] = [];
  private calls: Record<string, Call> = {};
  private readonly timers = new Map<string, SeenEvent<'timer.set'>>();
  private readonly inFlight = new Map<string, readonly Draft[]>();
  private cursor = 0;

  constructor() {
    const entries = logics.map((logic) => ({
      logic,
      facts: () => ({ facts: factsOf[logic.name] ?? {} }),
    }));
    this.bench = new BenchSession(entries);
  }

  /** One step of the world, chosen by a number. */
  step(choice: number): void {
    const rest = Math.floor(choice / 8);
    const kind = choice % 8;
    if (kind < 3) this.propose(pick(logics, rest)?.name);
    else if (kind < 5) this.land(pick([...this.inFlight.keys()], rest));
    else if (kind === 5) this.finish(pick([...this.running, ...this.forgotten], rest), rest);
    else if (kind === 7) this.meddle(rest);
    else if (rest % 3 === 0) this.crash(pick(this.running, rest));
    else this.fireTimer();
  }

  /** Lets everything come to its end. */
  drain(roundsMax = 2_000): void {
    for (let round = 0; round < roundsMax; round++) {
      const before = this.bench.events.length;
      for (const { name } of logics) {
        this.propose(name);
        this.land(name);
      }
      this.finish(this.running[0], 1);
      this.fireTimer();
      if (this.bench.events.length === before && this.inFlight.size === 0) return;
    }
    throw new Error('the world does not come to rest');
  }

  /** Calls that somebody claimed and that have no end. */
  openCalls(): string[] {
    return Object.keys(this.calls).filter((call) => this.calls[call]?.status === 'claimed');
  }

  append(drafts: readonly Draft[], service: string): void {
    for (const draft of drafts) {
      const problem = problemOfDraft(draft);
      if (problem !== undefined) throw new Error(problem);
    }
    this.bench.append(drafts, service);
    this.take();
  }

  private see(): void {
    this.bench.openCalls = this.calls;
    const claims = new Set(this.running.map(addressOf));
    const lost = Object.entries(this.calls).filter(
      ([, call]) => call.status === 'claimed' && !claims.has(call.claim),
    );
    this.bench.lost = Object.fromEntries(lost.map(([call]) => [call, 'runner-gone' as const]));
  }

  private propose(name: string | undefined): void {
    if (name === undefined || this.inFlight.has(name)) return;
    this.see();
    const drafts = this.bench.propose(name);
    this.checkRestored(name, drafts);
    if (drafts.length > 0) this.inFlight.set(name, drafts);
  }

  /** A state from a checkpoint decides the same, to the byte. */
  private checkRestored(name: string, drafts: readonly Draft[]): void {
    const logic = logics.find((one) => one.name === name);
    const restored: unknown = JSON.parse(canonical(this.bench.state(name)));
    const again = logic?.decide(restored as never, {
      session: this.bench.meta,
      nowMs: this.bench.nowMs,
      facts: (factsOf[name] ?? {}) as never,
      attachments: {},
      causes: [],
      openCalls: this.bench.openCalls,
      lost: this.bench.lost,
    });
    if (canonical(again) !== canonical(drafts))
      throw new Error(`${name} depends on more than state`);
  }

  private land(name: string | undefined): void {
    const drafts = name === undefined ? undefined : this.inFlight.get(name);
    if (name === undefined || drafts === undefined) return;
    this.inFlight.delete(name);
    this.append(drafts, name);
    this.see();
    const again = this.bench.propose(name);
    const same = again.filter((one) => drafts.some((old) => canonical(old) === canonical(one)));
    if (same.length > 0) throw new Error(`${name} proposed twice: ${canonical(same)}`);
  }

  /** What the chassis does with new events. */
  private take(): void {
    for (; this.cursor < this.bench.events.length; this.cursor++) {
      const seen = this.bench.events[this.cursor];
      if (seen !== undefined) this.takeOne(seen);
    }
    for (const claim of this.running.splice(0)) {
      (this.mayRun(claim) ? this.running : this.forgotten).push(claim);
    }
  }

  private takeOne(seen: SeenEvent): void {
    if (seen.type === 'tool.claimed' || seen.type === 'model.claimed') this.claim(seen);
    if (seen.type === 'timer.set') this.timers.set(seen.data.timer, seen);
    if (seen.type === 'timer.cancelled') this.timers.delete(seen.data.timer);
    if (seen.type === 'model.denied') delete this.calls[seen.data.call];
    if (seen.type === 'tool.unknown') {
      const call = this.calls[seen.data.call];
      if (call !== undefined) this.calls[seen.data.call] = { ...call, status: 'unknown' };
    }
  }

  private claim(seen: Claim): void {
    const { call, attempt, deadlineAtMs } = seen.data;
    const claim = addressOf(seen);
    // As every reader has it: what was claimed again while the outcome was on its way opens nothing.
    if (this.calls[call] === undefined && attempt > 1) return;
    this.calls[call] = {
      ...{ status: 'claimed', service: seen.service, claim, incarnation: 'inc_test' },
      ...{ attempt, deadlineAtMs, claims: [...(this.calls[call]?.claims ?? []), claim] },
    };
    if (!this.mayRun(seen)) return;
    this.running.push(seen);
    this.started[call] = (this.started[call] ?? 0) + 1;
  }

  private mayRun({ type, service, data: { call } }: Claim): boolean {
    if (type === 'model.claimed') return gateway.mayRun(this.bench.state('model-gateway'), call);
    if (service === 'tool-runner') return runner.mayRun(this.bench.state(service), call);
    return sandbox.mayRun(this.bench.state('sandbox-executor'), call);
  }

  private crash(claim: Claim | undefined): void {
    if (claim === undefined || !this.running.includes(claim)) return;
    this.running.splice(this.running.indexOf(claim), 1);
    this.forgotten.push(claim);
  }

  private finish(claim: Claim | undefined, choice: number): void {
    if (claim === undefined) return;
    this.crash(claim);
    const { call } = claim.data;
    // An outcome counts for a claim that is open; any other is late, and no fold sees it.
    if (this.calls[call]?.claims.includes(addressOf(claim)) !== true) return;
    delete this.calls[call];
    this.bench.input(outcomeOf(claim, choice));
    this.take();
  }

  private fireTimer(): void {
    const [first] = this.timers.values();
    if (first === undefined) return;
    const { timer, dueAtMs } = first.data;
    this.timers.delete(timer);
    this.bench.nowMs = Math.max(this.bench.nowMs, dueAtMs);
    const { record, index } = first;
    this.bench.input(event('timer.fired', { timer, record, index, dueAtMs }));
    this.take();
  }

  /** What the supervisor does of its own: ends attempts, makes new ones, ends the session. */
  private meddle(choice: number): void {
    const scheduled = this.bench.events.filter((one) => one.type === 'task.scheduled');
    const last = pick(scheduled, choice);
    if (last === undefined || choice % 12 !== 0) return;
    const { task, attempt } = last.data;
    if (choice % 7 === 0) {
      this.append([event('session.cancelled', { requestedBy: 'user:ada' })], 'supervisor');
    } else {
      const ended = event('task.timed-out', { task, attempt, deadlineAtMs: 1 });
      this.append([ended], 'supervisor');
      const data = { ...last.data, attempt: attempt + 1 };
      const input = { mediaType: 'application/json', body: { path: 'again' } };
      this.append([event('task.scheduled', data, { input })], 'supervisor');
    }
  }
}

function pick<T>(list: readonly T[], choice: number): T | undefined {
  return list.length === 0 ? undefined : list[choice % list.length];
}

const call = (name: string) => ({ id: `p_${name}`, name, arguments: { path: 'a.txt' } });
const answers: readonly Said[] = [
  { calls: [call('read'), call('read')] },
  { text: 'Done.' },
  { calls: [call('write'), call('run'), call('nothing')] },
  { calls: [call('sum')] },
];

function outcomeOf(claim: Claim, choice: number) {
  if (claim.type === 'model.claimed') {
    if (choice % 5 === 4) return failedModel(claim, { retryable: choice % 2 === 0 });
    return answered(claim, pick(answers, choice) ?? {});
  }
  if (choice % 5 === 4) return failedCall(claim, { retryable: choice % 2 === 0 });
  return completed(claim, `result ${choice % 3}`, 'exited');
}

/** How many events of a type name this call. */
export function countOf(
  events: readonly SeenEvent[],
  types: readonly (TurnEventType | 'tool.completed' | 'tool.failed')[],
  of: Readonly<Record<string, string | number>>,
): number {
  return events.filter((one) => {
    const data = one.data as Readonly<Record<string, unknown>>;
    const isMeant = Object.entries(of).every(([name, value]) => data[name] === value);
    return isMeant && types.some((type) => type === one.type);
  }).length;
}
