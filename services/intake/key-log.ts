/** What a key log knows: who has the key, and who comes after. */

import type { Members } from '../chassis/effects/member.ts';
import type { Settling } from './debounce.ts';

/** A session that takes goals of the key; `closing`: it wants to know how many were sent. */
export type Watcher = Readonly<{
  goalLog: string;
  lane: string;
  diverted: number;
  phase: 'open' | 'closing';
}>;

type Sent = Readonly<{ session: string; lane: string }>;

/** `sent` has the goals, by goal log, that have not said since that they got there; `lost` those of which nobody was told. */
export type Diversion = Readonly<{
  watchers: Members<Watcher>;
  sent: Members<Sent>;
  lost: Members<Sent>;
  returned: readonly string[];
}>;

export type KeyLog = Readonly<{
  kind: 'key';
  holder: string | null;
  queue: readonly string[];
  /** Goal logs that gave the key back, not yet answered. */
  released: readonly string[];
  /** Goals that wait for a newer one, which takes their place. */
  settling?: Settling;
  /** Goals that go to who has the key; absent where nobody ever took any. */
  diversion?: Diversion;
}>;
