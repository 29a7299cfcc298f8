import type { JsonValue } from '../../schemas/json.ts';
import type { TaskFailure } from './state.ts';

/** What a task that is made of others comes to; undefined while it goes on. */
export type Verdict =
  | Readonly<{ output: JsonValue }>
  | Readonly<{ failure: Omit<TaskFailure, 'retryable' | 'seed'> }>
  | undefined;
