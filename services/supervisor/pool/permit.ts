import type { DataOf } from '../../../schemas/event.ts';

/** A place that a task has, or waits for. */
export type Permit = Readonly<{
  pool: string;
  attempt: number;
  /** Address of the event that asked for it. */
  request: string;
  /** It is given until then; absent while it is waited for. */
  untilMs?: number;
  /** The question can never reach the log of the pool. */
  refused?: true;
}>;

/** What of its goal a session tells a pool; absent where it is as usual. */
export type GoalTraits = Readonly<{ lane?: string; key?: string; priority?: 'high' | 'bulk' }>;

/** An attempt that may not begin, because its agent's template is taken out. */
export type Denial = DataOf<'permit.denied'>['tasks'][number];
