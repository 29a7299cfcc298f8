/**
 * Circuit breaker of one model, as plain state: a decision takes from it whether the model can be
 * asked, and records that as a fact. (Libraries run the call themselves and read the clock, so that
 * nothing of theirs could be decided again.)
 *
 * K1 Closed until so many calls in a row failed for reasons that speak of the model, not of the
 *    request; then open for a time that doubles with each failed probe.
 * K2 After that time one call is let through as a probe; its end closes or opens again.
 * K3 A wait that the provider asks for is kept by everybody, breaker or not.
 */

import type { ModelFailure } from '../providers/port.ts';

export type BreakerRules = Readonly<{ failuresMax: number; coolMs: number }>;

export const breakerDefaults: BreakerRules = { failuresMax: 5, coolMs: 15_000 };

const coolMsMax = 300_000;
/** A provider that limits rates and does not say for how long. */
const limitedMs = 1_000;

const telling: ReadonlySet<ModelFailure['class']> = new Set([
  ...(['overloaded', 'timeout', 'unavailable', 'provider-error', 'authentication'] as const),
]);

export type BreakerStanding = Readonly<{ not: 'breaker-open' | 'retry-after'; untilMs: number }>;

export class Breaker {
  private failures = 0;
  private opened = 0;
  private openUntilMs = 0;
  private pausedUntilMs = 0;
  private probeUntilMs = 0;
  private readonly rules: BreakerRules;

  constructor(rules: BreakerRules) {
    this.rules = rules;
  }

  get isOpen(): boolean {
    return this.opened > 0;
  }

  /** Why the model is not to be asked now; undefined where it may be. */
  standing(nowMs: number): BreakerStanding | undefined {
    if (this.pausedUntilMs > nowMs) return { not: 'retry-after', untilMs: this.pausedUntilMs };
    if (this.opened === 0) return undefined;
    const untilMs = Math.max(this.openUntilMs, this.probeUntilMs);
    return untilMs > nowMs ? { not: 'breaker-open', untilMs } : undefined;
  }

  /** A call begins; while the breaker is open it is the probe, and the only one until `deadlineAtMs`. */
  begin(deadlineAtMs: number): void {
    if (this.opened > 0) this.probeUntilMs = deadlineAtMs;
  }

  /** What was to be the probe is not sent. */
  letGo(): void {
    this.probeUntilMs = 0;
  }

  succeeded(): void {
    this.failures = 0;
    this.opened = 0;
    this.openUntilMs = 0;
    this.probeUntilMs = 0;
  }

  failed({ class: kind, retryAfterMs }: ModelFailure, nowMs: number): void {
    if (kind === 'rate-limited' || retryAfterMs !== undefined)
      this.pausedUntilMs = Math.max(this.pausedUntilMs, nowMs + (retryAfterMs ?? limitedMs));
    this.probeUntilMs = 0;
    if (!telling.has(kind)) {
      // It answered, if only to refuse this request: a probe has shown what it was to show.
      if (kind !== 'cancelled' && kind !== 'rate-limited') this.succeeded();
      return;
    }
    this.failures += 1;
    if (this.opened === 0 && this.failures < this.rules.failuresMax) return;
    this.opened += 1;
    const coolMs = Math.min(coolMsMax, this.rules.coolMs * 2 ** (this.opened - 1));
    this.openUntilMs = nowMs + coolMs;
  }
}
