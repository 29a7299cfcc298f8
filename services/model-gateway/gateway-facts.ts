import type { Quotes } from './budget.ts';
import type { NotAskedBecause } from './not-asked.ts';
import type { DayLimit } from './tranche.ts';

/** So many more calls of a model may be claimed; what keeps the next one back. */
export type Room = Readonly<{ calls: number; not: NotAskedBecause; untilMs?: number }>;

/** Names of the providers that this host can reach, such as `scripted` or `openai`. */
export type ModelGatewayFacts = Readonly<{
  providers: readonly string[];
  /** By `quoteKey`; for calls that are to be made in a session with a budget. */
  quotes?: Quotes;
  /** Where the tenant's day has a limit. */
  dayBudget?: DayLimit;
  /** By model; there is no end of room for one that is not listed. */
  room?: Readonly<Record<string, Room>>;
}>;
