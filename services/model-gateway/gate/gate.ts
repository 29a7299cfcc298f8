/**
 * What one host may send to its providers now: rates, calls at once, breakers. Decisions ask before
 * they claim (facts), effects say what became of it.
 *
 * G1 A decision is told how many calls of a model it may claim; so many are held for it, by call.
 * G2 A hold is turned into use when the effect begins, and given back when a later decision of the
 *    session does not want it any more, or after `holdMs`: a turn may be dropped.
 * G3 What waits is looked at again, first come first served, as soon as a call ends.
 */

import type { NotAskedBecause } from '../not-asked.ts';
import type { ModelOutcome } from '../providers/port.ts';
import { Breaker } from './breaker.ts';
import type { GateLimits, GateRules } from './rules.ts';
import { Share } from './share.ts';
import { Window } from './window.ts';

const holdMs = 30_000;

/** One call as a limit sees it. `tokens` is the most that it may use. */
export type Wish = Readonly<{
  call: string;
  session: string;
  tenant: string;
  provider: string;
  model: string;
  tokens: number;
}>;

export type Refusal = Readonly<{ not: NotAskedBecause; untilMs?: number }>;

type Meter = { readonly requests: Window; readonly tokens: Window; busy: number };

type Hold = {
  readonly wish: Wish;
  readonly expiresAtMs: number;
  running: boolean;
  /** Corrects the tokens; without any, all of it is given back. */
  readonly settle: (tokens: number | undefined) => void;
};

const metersOf = ({ provider, tenant }: Wish): readonly string[] => [provider, `tenant ${tenant}`];

const newMeter = (): Meter => ({ requests: new Window(), tokens: new Window(), busy: 0 });

export class Gate {
  private readonly rules: GateRules;
  private readonly share = new Share();
  private readonly breakers = new Map<string, Breaker>();
  private readonly meters = new Map<string, Meter>();
  private readonly holds = new Map<string, Hold>();
  /** Meter -> sessions that wait for it, oldest first. */
  private readonly waiting = new Map<string, Set<string>>();
  private asked = 0;
  private refused = 0;
  private readonly look: (session: string) => void;

  /** `look` makes a session decide again. */
  constructor(rules: GateRules, look: (session: string) => void) {
    this.rules = rules;
    this.look = look;
  }

  /** So many gateway hosts are alive, this one among them. */
  heard(hosts: number, nowMs: number): void {
    this.share.heard(hosts, nowMs);
  }

  /** Holds room for the call; or why there is none. Asking again for the same changes nothing. */
  hold(wish: Wish, nowMs: number): Refusal | undefined {
    const held = this.holds.get(wish.call);
    if (held !== undefined && held.wish.model === wish.model) return undefined;
    this.release(wish.call);
    this.expire(nowMs);
    this.asked += 1;
    const refusal = this.breakerOf(wish.model).standing(nowMs) ?? this.limited(wish, nowMs);
    if (refusal !== undefined) {
      this.refused += 1;
      return refusal;
    }
    for (const meter of metersOf(wish)) this.waiting.get(meter)?.delete(wish.session);
    this.breakerOf(wish.model).begin(nowMs + holdMs);
    this.take(wish, nowMs);
    return undefined;
  }

  /** Gives back what is held for calls of the session that are not among these, and do not run. */
  keepOnly(session: string, calls: ReadonlySet<string>): void {
    for (const [call, { wish, running }] of this.holds)
      if (wish.session === session && !running && !calls.has(call)) this.release(call);
  }

  /** The call does not go out. */
  letGo(call: string): void {
    this.release(call);
  }

  /** The call goes out. */
  begin(wish: Wish, at: { nowMs: number; deadlineAtMs: number }): void {
    let hold = this.holds.get(wish.call);
    if (hold?.wish.model !== wish.model) {
      this.release(wish.call);
      hold = this.take(wish, at.nowMs);
    }
    hold.running = true;
    this.breakerOf(wish.model).begin(at.deadlineAtMs);
  }

  /** The call has ended. */
  end(wish: Wish, outcome: ModelOutcome, nowMs: number): void {
    const breaker = this.breakerOf(wish.model);
    if (outcome.kind === 'completed') breaker.succeeded();
    else breaker.failed(outcome.error, nowMs);
    const { usage } = outcome;
    this.release(wish.call, usage === undefined ? 0 : usage.inputTokens + usage.outputTokens);
    for (const meter of metersOf(wish)) this.lookAtWaiting(meter);
  }

  private take(wish: Wish, nowMs: number): Hold {
    const meters = metersOf(wish).map((name) => this.meter(name));
    const requests = meters.map((meter) => meter.requests.take(1, nowMs));
    const tokens = meters.map((meter) => meter.tokens.take(wish.tokens, nowMs));
    for (const meter of meters) meter.busy += 1;
    const hold: Hold = {
      ...{ wish, expiresAtMs: nowMs + holdMs, running: false },
      settle(used) {
        for (const meter of meters) meter.busy -= 1;
        for (const correct of tokens) correct(used ?? 0);
        if (used === undefined) for (const correct of requests) correct(0);
      },
    };
    this.holds.set(wish.call, hold);
    return hold;
  }

  private release(call: string, tokens?: number): void {
    const hold = this.holds.get(call);
    if (hold === undefined) return;
    this.holds.delete(call);
    if (tokens === undefined) this.breakerOf(hold.wish.model).letGo();
    hold.settle(tokens);
  }

  private expire(nowMs: number): void {
    for (const [call, { expiresAtMs, running }] of this.holds) {
      // In the order in which they were taken: the first that is young ends the search.
      if (running) continue;
      if (expiresAtMs > nowMs) return;
      this.release(call);
    }
  }

  private limited(wish: Wish, nowMs: number): Refusal | undefined {
    const { providers, tenants } = this.rules;
    const rules = [providers[wish.provider], tenants[wish.tenant] ?? tenants['*']];
    for (const [index, name] of metersOf(wish).entries()) {
      const over = this.over(name, rules[index], wish, nowMs);
      if (over === undefined) continue;
      this.waitersOf(name).add(wish.session);
      return index === 0 ? over : { ...over, not: 'tenant-rate-limited' };
    }
    return undefined;
  }

  private over(
    name: string,
    limits: GateLimits | undefined,
    { tokens }: Wish,
    nowMs: number,
  ): Refusal | undefined {
    if (limits === undefined) return undefined;
    const { concurrentMax, requestsPerMinute, tokensPerMinute } = limits;
    const meter = this.meter(name);
    const part = (limit: number): number => this.share.of(limit, nowMs);
    if (concurrentMax !== undefined && meter.busy >= part(concurrentMax)) return { not: 'busy' };
    const readyAtMs = Math.max(
      requestsPerMinute === undefined
        ? nowMs
        : meter.requests.readyAtMs(1, part(requestsPerMinute), nowMs),
      tokensPerMinute === undefined
        ? nowMs
        : meter.tokens.readyAtMs(tokens, part(tokensPerMinute), nowMs),
    );
    return readyAtMs > nowMs ? { not: 'rate-limited', untilMs: readyAtMs } : undefined;
  }

  private breakerOf(model: string): Breaker {
    const known = this.breakers.get(model);
    if (known !== undefined) return known;
    const breaker = new Breaker(this.rules.breaker);
    this.breakers.set(model, breaker);
    return breaker;
  }

  private meter(name: string): Meter {
    const known = this.meters.get(name);
    if (known !== undefined) return known;
    const meter = newMeter();
    this.meters.set(name, meter);
    return meter;
  }

  private waitersOf(provider: string): Set<string> {
    const known = this.waiting.get(provider);
    if (known !== undefined) return known;
    const waiters = new Set<string>();
    this.waiting.set(provider, waiters);
    return waiters;
  }

  /** One after another, until there is no room for one; who wants none any more leaves the line. */
  private lookAtWaiting(meter: string): void {
    const waiters = this.waiting.get(meter);
    for (const session of [...(waiters ?? [])]) {
      const { asked, refused } = this;
      this.look(session);
      if (this.refused > refused) return;
      if (this.asked === asked) waiters?.delete(session);
    }
  }
}
