/** What limits the calls of a provider or a tenant, over all hosts; undefined: nothing does. */

import type { BreakerRules } from './breaker.ts';

export type GateLimits = Readonly<{
  requestsPerMinute?: number | undefined;
  /** Input and output tokens. */
  tokensPerMinute?: number | undefined;
  /** Calls at once. */
  concurrentMax?: number | undefined;
}>;

/** Limits by name of provider, and by tenant (`*`: every tenant that is not named, each for itself). */
export type GateRules = Readonly<{
  providers: Readonly<Record<string, GateLimits>>;
  tenants: Readonly<Record<string, GateLimits>>;
  breaker: BreakerRules;
}>;
