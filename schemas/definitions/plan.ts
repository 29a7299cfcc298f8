import type { JsonValue } from '../json.ts';

/**
 * A JSON value in which a text that starts with `=` is a JSONata expression (`==` stands for a text that starts
 * with one `=`). What an expression sees is said where the template stands.
 */
export type Template = JsonValue;

export type PlanInput = Readonly<{
  type: 'string' | 'number' | 'boolean' | 'object' | 'array';
  required: boolean;
  default?: JsonValue;
  description?: string;
}>;

export type TaskDefinition = Readonly<{
  id: string;
  pool: string;
  agent: string;
  needs: readonly string[];
  /** Sees `goal`, `inputs`, `context`, and `tasks.<id>` (the output of each needed task; null if it did not complete). */
  input: Template;
  /** Higher goes first; default 0. */
  priority: number;
  timeoutMs: number;
  attemptsMax: number;
  /** Wait before the second attempt; doubles with each further one, with jitter from the event id. */
  backoffMs: number;
  /** `fail` ends the session; `continue` skips what cannot do without this task and goes on. */
  onFailure: 'fail' | 'continue';
  /** What its model calls may cost, all attempts together, in nano-USD; undefined: what the goal's budget holds. */
  budgetNanoUsd?: number;
}>;

export type PlanOutput = Readonly<{
  /** `collect`: one member per task. `merge`: the tasks' objects in one, members that differ by the conflict rule. */
  kind: 'collect' | 'merge';
  /** Which tasks; all by default. */
  tasks?: readonly string[];
  conflict: 'first' | 'last' | 'list' | 'fail';
  /** Sees `goal`, `inputs`, `context`, `tasks`, `joined`, `contradictions`; default is what was joined. */
  shape?: Template;
}>;

export type PlanDefinition = Readonly<{
  name: string;
  version: string;
  description: string;
  inputs: Readonly<Record<string, PlanInput>>;
  tasks: readonly TaskDefinition[];
  output: PlanOutput;
}>;
