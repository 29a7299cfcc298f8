/**
 * What the supervisor knows of one session, as plain JSON. Tasks stand in a list in the order of
 * the plan, because members of an object lose their order in a checkpoint. Outputs are kept only
 * where a task needs them.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { TaskDefinition } from '../../schemas/definitions/plan.ts';
import type { DataOf } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { sessionFold } from '../../state-machines/session/session-machine.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import type { GoalScope } from '../chassis/catalog/goal-scope.ts';
import type { RecoveryPolicy } from '../chassis/catalog/recovery-policy.ts';
import type { Members } from '../chassis/effects/member.ts';
import type { AskedQuestion } from '../chassis/effects/questions.ts';
import type { SortedPairs } from '../chassis/effects/sorted-pairs.ts';
import type { Tried } from '../chassis/effects/tried.ts';
import type { Denial, GoalTraits, Permit } from './pool/permit.ts';
import type { PoolLog } from './pool/pool-log.ts';

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
  /** A fan-out whose branches run in child sessions, while it runs. */
  spread?: SpreadState;
  /** How far its agent's error policy was followed; absent before the first step. */
  ladder?: Ladder;
  /** Its agent waits for a person: its time stands still. */
  waiting?: Waiting;
  /** An agent made it. */
  delegation?: DelegatedWork;
  /** The attempt that handed it on, where the breaker of its template wants to know. */
  handedOn?: number;
}>;

/** `attempt` is the one of the task that made it. */
export type DelegatedWork = Readonly<{
  attempt: number;
  input: JsonValue;
  /** How many delegates of that task may work at the same time. */
  parallelMax?: number;
  /** Whether a budget holds for it, and whether its part was set aside. */
  budgeted: boolean;
  purse?: 'asked' | 'given' | 'empty';
}>;

/** What became of a branch: an output, a failure, or null where it was stopped before it came to either. */
export type BranchOutcome =
  | Readonly<{ output: JsonValue }>
  | Readonly<{ failure: Pick<TaskFailure, 'code' | 'class' | 'message'> }>
  | null;

export type SpreadState = Readonly<{
  branches: number;
  /** How many child sessions there will be, and how many were asked for so far. */
  sessions: number;
  begun: number;
  /** Places of branches that have no input, and so no child session. */
  lost: readonly number[];
  /** By place of the branch; those that are not known yet are missing. */
  outcomes: Readonly<Record<string, BranchOutcome>>;
}>;

/** A child session that was asked for and has not ended. */
export type ChildSession = Readonly<{
  task: string;
  ordinal: number;
  /** `stopping`: it was opened, and told to end. */
  phase: 'requested' | 'allotted' | 'open' | 'stopping';
  budgetNanoUsd?: number;
  /** Of the event that opened it. */
  address?: string;
}>;

/** What child sessions get from the opening of their parent. */
export type Origin = Readonly<
  Pick<DataOf<'session.opened'>, 'goalLog' | 'lane' | 'priority' | 'agentPools' | 'riskMax'> & {
    budgeted: boolean;
  }
>;

/** One branch, round or iteration of `of`. `scope` is what its input sees besides what the task sees. */
export type Child = Readonly<{
  of: string;
  kind: DataOf<'task.expanded'>['kind'] | DataOf<'task.delegated'>['kind'];
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

/** A goal that came and that no iteration has seen yet. Nobody waits for what becomes of it where it has no goal log. */
export type Wake = Readonly<{
  ordinal: number;
  goalId: string;
  goalLog?: string;
  goal: JsonValue;
  inputs: JsonValue;
  context: JsonValue;
}>;

/** `unasked` until the loop begins; `counted`: `expected` is how many the key log has sent in all. */
export type Wakes = Readonly<{
  phase: 'unasked' | 'open' | 'closing' | 'counted';
  key: string;
  goalLog: string;
  lane: string;
  expected: number;
  /** How many came or were withdrawn, and how many of them came. */
  arrived: number;
  came: number;
  waiting: readonly Wake[];
  /** Own events that have not reached the other log, by address. */
  unsent: readonly string[];
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
  timers: SortedPairs<number>;
  /** Agents and sandboxes that live, with the service that answers for them. */
  living: SortedPairs<string>;
  /** Address of the result that counts, and whether it reached the other side. */
  result: string | null;
  delivered: boolean;
  /** The result that was published is refused for good, and another one stands in its place. */
  replaced?: true;
  /** What models cost in this session so far; kept where a loop has a budget. */
  spentNanoUsd?: number;
  /** Calls that the guard has not answered, with their tasks. */
  asked?: Readonly<Record<string, string>>;
  /** Kept until the plan is known, and further where it has a task whose branches may run in child sessions. */
  origin?: Origin;
  catalog?: Omit<PinnedCatalog, 'plan'>;
  planVersion?: string;
  /** Where the rest of the plan may be made anew. `asked`: the planner thinks; `over`: it found no other way. */
  replan?: Readonly<{ revisionsMax: number; revisions: number; asked: boolean; over?: true }>;
  /** By session id. */
  sessions?: Readonly<Record<string, ChildSession>>;
  /** Children that somebody wants to end and that were not told yet. */
  childCancels?: Members<Readonly<{ requestedBy: string; reason: string }>>;
  /** Questions to people, by id. */
  questions?: Readonly<Record<string, KnownQuestion>>;
  /** Answers that do not count and of which nobody has said so yet. */
  strays?: readonly DataOf<'person.answer-refused'>[];
  /** What pools are told of the goal; absent where it is as usual. */
  goal?: GoalTraits;
  /** Pools whose tasks ask for a place before they begin. */
  limitedPools?: readonly string[];
  /** By task: the place of its attempt. */
  permits?: Members<Permit>;
  /** By task: why its attempt may not begin. */
  denials?: Members<Denial>;
  /** By agent: what its template says of attempts that fail, where it says anything. */
  recoveries?: Members<RecoveryPolicy>;
  /** There where agents may give work to others: what of the session has a budget, and whose attempts go on. */
  delegating?: Readonly<{
    budgeted: boolean;
    budgetedTasks: readonly string[];
    resuming: readonly string[];
  }>;
  /** There where goals of the key wake a loop. */
  wakes?: Wakes;
  /** Set in the log of a pool, and nothing else is then. */
  poolLog?: PoolLog;
}>;

export const initialState: SupervisorState = {
  session: sessionFold.initial(),
  scope: null,
  timeoutAtMs: null,
  plan: '',
  tasks: [],
  stop: null,
  timers: [],
  living: [],
  result: null,
  delivered: false,
};

export const findTask = (state: SupervisorState, id: string): TaskState | undefined =>
  state.tasks.find((task) => task.definition.id === id);

/** Whether the task is made of others: branches, rounds or iterations. */
export const isComposite = ({ definition, child }: TaskState): boolean =>
  child === undefined && (definition.fanOut ?? definition.review ?? definition.loop) !== undefined;

export const isRunning = (state: SupervisorState): boolean => state.session.value === 'running';

const finalStates = new Set(['completed', 'abandoned', 'skipped', 'cancelled']);

/** Whether nothing more will happen to the task. */
export const isSettled = ({ machine }: Pick<TaskState, 'machine'>): boolean =>
  finalStates.has(machine.value);

/** Whether the time of the attempt stands still, because its agent, or a delegate of it, waits for a person. */
export const isWaiting = ({ waiting, machine }: TaskState): boolean =>
  waiting !== undefined && machine.value === 'scheduled' && attemptsOf(machine) === waiting.attempt;

export type AttemptName = Readonly<{ task: string; attempt: number }>;

/** `answeredBy` is of the answer that counts so far; `above` are the attempts that wait for the task, which an agent made. */
export type KnownQuestion = AskedQuestion &
  Readonly<{ task: string; answeredBy?: string; above?: readonly AttemptName[] }>;

/** One task waits for answers since then; its deadline is later by so much. */
export type Waiting = Readonly<{ attempt: number; questions: number; sinceMs: number }>;

export type LadderStep = NonNullable<DataOf<'task.retry-scheduled'>['recovery']>['step'];

/** How often each step was made, who works now, and what was tried, oldest first. */
export type Ladder = Readonly<{
  step: LadderStep;
  counts: Readonly<Record<LadderStep, number>>;
  agent?: string;
  model?: string;
  /** Another agent has worked for the task: its own would begin anew. */
  strayed?: true;
  tried: readonly Tried[];
}>;
