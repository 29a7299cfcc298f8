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

/** One of the named branches of a fan-out; what it leaves out is the task's. */
export type BranchDefinition = Readonly<{
  id: string;
  pool?: string;
  agent?: string;
  input?: Template;
}>;

/**
 * Many branches side by side. Exactly one of `over` and `branches`. The output is a list in the order of the items, or
 * an object by branch id; null where a branch gave nothing. With `first` it is the winner's own output.
 */
export type FanOut = Readonly<{
  /** Gives a list, whose length is known when the task begins. A branch sees `item` and `index`. */
  over?: Template;
  branches?: readonly BranchDefinition[];
  itemsMax: number;
  parallelMax: number;
  until: 'all' | 'first' | 'quorum';
  /** How many must complete; with `quorum` only. */
  quorum?: number;
  /** `fail`: the task fails when it can no longer be reached. `continue`: null stands for what failed. */
  onBranchFailure: 'fail' | 'continue' | 'substitute';
  /** Stands for the output of a branch that failed. Sees what the branch saw, and `failure` (code and message). */
  substitute?: Template;
  /**
   * With more than `above` branches they run in child sessions, `perSession` in each. Absent: all in the session of the
   * plan, however many.
   */
  spread?: Readonly<{ above: number; perSession: number }>;
  /**
   * Set in the plans of child sessions only: the output says of each branch what became of it, and the fan-out ends when
   * more than `lossesMax` were lost.
   */
  report?: Readonly<{ lossesMax: number }>;
}>;

/** The output goes to a reviewer, who accepts it or gives it back; the task then sees `remarks` and `previous`. */
export type Review = Readonly<{
  pool: string;
  agent: string;
  /** Sees `result` and `round` besides what the task sees. */
  input: Template;
  /** An expression over the reviewer's output (`review`) and `result`. */
  accepted: string;
  /** What the task sees of a review that did not accept. */
  remarks: Template;
  roundsMax: number;
  onExhausted: 'fail' | 'accept';
}>;

/**
 * The task again and again; it sees `iteration` (from 1), `previous` (its last output) and `signal` (what woke it). The
 * output is `{ iterations, exit, last }`.
 */
export type Loop = Readonly<{
  wake: Readonly<{
    everyMs?: number;
    signals?: readonly string[];
    /** Further goals of the session's key wake it in place of waiting for their turn. */
    goalsOfKey?: true;
  }>;
  exit: Readonly<{
    /** An expression over `output` and `iteration`. */
    when?: string;
    iterationsMax?: number;
    deadlineMs?: number;
    budgetNanoUsd?: number;
  }>;
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
  /** At most one of these three. Time-outs and attempts then count for each branch, round or iteration. */
  fanOut?: FanOut;
  review?: Review;
  loop?: Loop;
}>;

/** What tasks vote on (`of`, over `output`; all of it if not said), and how many must say the same. */
export type Vote = Readonly<{ of?: string; quorum: number }>;

/** A model that writes the answer from what the tasks gave. */
export type Synthesis = Readonly<{
  model: string;
  guidance: string;
  outputTokensMax: number;
  timeoutMs: number;
  attemptsMax: number;
}>;

export type PlanOutput = Readonly<{
  /**
   * `collect`: one member per task. `merge`: the tasks' objects in one, members that differ by the conflict rule. `vote`:
   * what a quorum of tasks says. `synthesis`: what a model makes of what was collected.
   */
  kind: 'collect' | 'merge' | 'vote' | 'synthesis';
  vote?: Vote;
  synthesis?: Synthesis;
  /** Rules for single members that do not follow `conflict`. */
  conflicts?: Readonly<Record<string, PlanOutput['conflict']>>;
  /** Which tasks; all by default. */
  tasks?: readonly string[];
  conflict: 'first' | 'last' | 'list' | 'fail';
  /** Sees `goal`, `inputs`, `context`, `tasks`, `joined`, `contradictions`; default is what was joined. */
  shape?: Template;
}>;

/** A model that makes the tasks. Its answer is checked like a file; what is wrong goes back to it. */
export type Planning = Readonly<{
  model: string;
  guidance: string;
  agents: readonly Readonly<{ agent: string; pool: string }>[];
  tasksMax: number;
  attemptsMax: number;
  outputTokensMax: number;
  timeoutMs: number;
  /**
   * Absent in sessions that pinned a plan before there were forms, which go on as they did. From 2 on the model is told the
   * goal's budget, and no task may have a larger one.
   */
  form?: 2;
}>;

/** What is done where a task was given up that the plan cannot do without. */
export type Replan = Readonly<{
  /** How often in one session. */
  revisionsMax: number;
  /** The first whose `when` holds gives the rest of the plan; where none does, the planning model is asked if there is one. */
  rules: readonly Readonly<{
    /** An expression over `failure` (task, code, class, message) and `revision`. */
    when: string;
    /** In the place of all tasks that have not begun, and of the one that failed. */
    tasks: readonly TaskDefinition[];
  }>[];
}>;

export type PlanDefinition = Readonly<{
  name: string;
  version: string;
  description: string;
  inputs: Readonly<Record<string, PlanInput>>;
  /** Empty before a planning model made them. */
  tasks: readonly TaskDefinition[];
  planning?: Planning;
  /** Absent: such a failure ends the session. */
  replan?: Replan;
  /** What tasks and branches give is told on longrein.results before the result. */
  progress?: true;
  output: PlanOutput;
}>;
