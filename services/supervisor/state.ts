/**
 * What the supervisor knows of one session, as plain JSON. Tasks stand in a list in the order of
 * the plan, because members of an object lose their order in a checkpoint. Outputs are kept only
 * where a task needs them.
 */

import type { TaskDefinition } from '../../schemas/definitions/plan.ts';
import type { DataOf } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { sessionFold } from '../../state-machines/session/session-machine.ts';
import type { GoalScope } from '../chassis/catalog/goal-scope.ts';

export type FailureClass = DataOf<'task.failed'>['class'];

/**
 * Why the last attempt failed. `seed` is the address of what said so; the jitter of the next wait
 * follows from it.
 */
export type TaskFailure = Readonly<{
  code: string;
  class: FailureClass;
  retryable: boolean;
  message: string;
  seed: string;
}>;

export type TaskState = Readonly<{
  definition: TaskDefinition;
  machine: Persisted;
  /** Whether some task takes its output. */
  needed: boolean;
  /** Deadline of the attempt that runs, or time of the next one. */
  dueAtMs: number;
  /** Address of the timer's firing for `dueAtMs`, or null while it is to come. */
  fired: string | null;
  failure: TaskFailure | null;
  output: JsonValue;
  /** An attempt was allowed a call that must not be made twice (DESIGN 5). */
  acted?: true;
  /** A further attempt goes on from what is recorded; where it does not, none follows one that acted. */
  resumes?: true;
  /** It belongs to a task that is made of others. */
  child?: Child;
  /** How many children it ever had, for a task that is made of others and began. */
  children?: number;
  /** A loop between two iterations. */
  loop?: LoopState;
}>;

/** One branch, round or iteration of `of`. `scope` is what its input sees besides what the task sees. */
export type Child = Readonly<{
  of: string;
  kind: DataOf<'task.expanded'>['kind'];
  /** From 1 on, over all children of the task. */
  ordinal: number;
  scope: JsonObject;
}>;

export type Signal = Readonly<{ name: string; payload: JsonValue }>;

export type LoopState = Readonly<{
  iterations: number;
  /** What models had cost in this session when the first iteration began. */
  spentBeforeNanoUsd: number;
  /** When the next iteration is due by time; null where it waits for a signal only, or nothing. */
  wakeAtMs: number | null;
  /** Signals that no iteration has seen yet, oldest first. */
  signals: readonly Signal[];
}>;

/** Why the session has to end before its plan is done; the first reason in the log counts. */
export type StopReason =
  | Readonly<{ as: 'cancelled'; requestedBy: string; reason: string | null }>
  | Readonly<{ as: 'failed'; code: string; message: string }>;

export type SupervisorState = Readonly<{
  session: Persisted;
  /** Null before the opening and after the end. */
  scope: GoalScope | null;
  timeoutAtMs: number | null;
  plan: string;
  tasks: readonly TaskState[];
  stop: StopReason | null;
  /** Own timers that are set, with their due times. */
  timers: Readonly<Record<string, number>>;
  /** Agents and sandboxes that live, with the service that answers for them. */
  living: Readonly<Record<string, string>>;
  /** Address of the result that counts, and whether it reached the other side. */
  result: string | null;
  delivered: boolean;
  /** The result that was published is refused for good, and another one stands in its place. */
  replaced?: true;
  /** What models cost in this session so far; kept where a loop has a budget. */
  spentNanoUsd?: number;
  /** Calls that the guard has not answered, with their tasks. */
  asked?: Readonly<Record<string, string>>;
}>;

export const initialState: SupervisorState = {
  session: sessionFold.initial(),
  scope: null,
  timeoutAtMs: null,
  plan: '',
  tasks: [],
  stop: null,
  timers: {},
  living: {},
  result: null,
  delivered: false,
};

/** Whether the task is made of others: branches, rounds or iterations. */
export const isComposite = ({ definition, child }: TaskState): boolean =>
  child === undefined && (definition.fanOut ?? definition.review ?? definition.loop) !== undefined;

export const isRunning = (state: SupervisorState): boolean => state.session.value === 'running';

const finalStates = new Set(['completed', 'abandoned', 'skipped', 'cancelled']);

/** Whether nothing more will happen to the task. */
export const isSettled = ({ machine }: Pick<TaskState, 'machine'>): boolean =>
  finalStates.has(machine.value);
