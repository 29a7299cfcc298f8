/**
 * What a worker pool knows of one session: its agents, what they asked for, and what came back.
 * Plain JSON.
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { ModelRoute } from '../../schemas/definitions/catalog.ts';
import type { DataOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import type { ServerCheck } from '../chassis/catalog/server-checks.ts';
import type { ModelAnswer } from '../chassis/context/messages.ts';
import { type Lineage, ofPlan } from '../chassis/effects/delegation.ts';
import { type EndedWork, nothingEnded } from '../chassis/effects/ended-work.ts';
import { type Members, memberOf } from '../chassis/effects/member.ts';
import type { AskedQuestion } from '../chassis/effects/questions.ts';
import type { Tried } from '../chassis/effects/tried.ts';
import type { ContextLedger } from './context-window.ts';

export type FailureClass = DataOf<'task.failed'>['class'];

/** Why something an agent needed did not work. `retryable`: the same may work later. */
export type Failure = Readonly<{
  code: string;
  class: FailureClass;
  retryable: boolean;
  message: string;
}>;

export type Decision = DataOf<'person.answered'>['decision'];

/** What a person said, as the agent gets it. */
export type Reply = Readonly<{
  decision: Decision;
  answeredBy: string;
  answer: JsonValue;
  reason?: string;
}>;

/** A question that nobody settled yet; a call of `ask_person` has the same id. */
export type Question = AskedQuestion &
  Readonly<{
    about: DataOf<'person.asked'>['about'];
    text: string;
    /** How many of those who are asked besides were asked. */
    escalations: number;
    /** When the newest of those who were asked is out of time. */
    timer?: WaitingTimer;
    reply?: Reply;
    amountNanoUsd?: number;
  }>;

/** One tool call of an agent; neither `result` nor `failure` while it is open. */
export type ToolCallEntry = Readonly<{
  call: string;
  step: number;
  tool: string;
  result?: JsonValue;
  failure?: Failure;
  /** Of tool and arguments, then of the answer too: what a loop is seen by. */
  signature?: string;
  /** What the guard said of it, and whether somebody claimed it: for agents whose attempts are resumed. */
  effect?: DataOf<'tool.permitted'>['effect'];
  started?: true;
  /** Of a call for vectors that failed: what the wait follows from before it is made again, where it may be. */
  again?: Pick<ModelFailure, 'retryAfterMs' | 'address'>;
}>;

/** What an agent asked of a server, and why it cannot begin, where that is known. */
export type ServerAnswer = Readonly<{ call: string; failure?: Failure }>;

/** `address` is that of the event that said so: back-off draws its jitter from it. */
export type ModelFailure = Failure &
  Readonly<{
    retryAfterMs: number;
    address: string;
    /** The call is made again all the same. */
    pardoned?: true;
  }>;

/** A timer of an agent: where it was set, and whether it is over. */
export type WaitingTimer = Readonly<{
  timer: string;
  record: string;
  index: number;
  fired: boolean;
}>;

/** The summary that a context policy asked for. `text` is there if one came. */
export type SummaryProgress = Readonly<{
  call: string;
  steps: readonly number[];
  ended: boolean;
  text?: string;
}>;

/**
 * `tries` counts calls for the step at hand. `answer` is the newest, also while the next one is
 * asked for.
 */
export type ModelProgress = Readonly<{
  call: string;
  tries: number;
  /** The step that `answer` ended, for agents of form 2. */
  step?: number;
  answer?: ModelAnswer;
  finishReason?: DataOf<'model.completed'>['finishReason'];
  failure?: ModelFailure;
  /** The wait before the call is made again. */
  retry?: WaitingTimer;
}>;

export type Usage = Readonly<
  Pick<
    DataOf<'agent.completed'>,
    'steps' | 'modelCalls' | 'toolCalls' | 'inputTokens' | 'outputTokens' | 'costNanoUsd'
  >
>;

/**
 * One attempt at one task. There is no `machine` before `agent.created` was read. `name` is the
 * agent's name in the pinned catalog; `calls` counts all calls ever asked for, which makes their
 * ids.
 */
export type AgentEntry = Readonly<{
  machine?: Persisted;
  task: string;
  attempt: number;
  name: string;
  input: JsonValue;
  calls: number;
  usage: Usage;
  /** Whether the servers that it needs are well: what it asked before it began. */
  checks?: readonly ServerAnswer[];
  /** A procedure's calls so far; a model's calls of its newest answer. */
  tools: readonly ToolCallEntry[];
  model: ModelProgress;
  /** How often the model was told that its output is wrong. */
  repairs?: number;
  /** Place of the model in use among those that take over; absent for the agent's own. */
  fallback?: number;
  /** How often each call with its answer was seen, by signature. */
  repeats?: Members<number>;
  /** The generation of signatures before. */
  repeatsBefore?: Members<number>;
  /** Steps in a row with nothing but refused calls. */
  refused?: number;
  /** What the conversation comes to in tokens, where the agent has a context policy. */
  ledger?: ContextLedger;
  summary?: SummaryProgress;
  wall?: WaitingTimer;
  /** By id: what a person was asked, until it is settled. */
  questions?: Members<Question>;
  /** What a person allowed beyond the agent's own limit of costs; and that nobody allows more. */
  raisedNanoUsd?: number;
  raiseRefused?: true;
  /** Why this attempt is made, where an error policy wants it. */
  recovery?: Recovery;
  /** The agent of an earlier attempt, or who handed its task on, whose conversation this one goes on with. */
  continues?: string;
  /** What its delegates have cost in this attempt. */
  delegatedNanoUsd?: number;
  /** It was handed a conversation of so many steps, which ended with that call. */
  handed?: Readonly<{ steps: number; callId: string }>;
}>;

/** What a delegated task came to. */
export type DelegationEnd = Readonly<{ result: JsonValue }> | Readonly<{ failure: Failure }>;

/** Work that an agent gave to another one, and how deep that lies. `agent` gave it, by `call` of its task. */
export type Delegation = Readonly<{
  task: string;
  agent: string;
  call: string;
  kind: DataOf<'task.delegated'>['kind'];
  to: string;
  depth: number;
  depthMax: number;
  handoffs: number;
  /** Of agents that are gone, and worked on it. */
  costNanoUsd: number;
  budgetNanoUsdMax?: number;
  end?: DelegationEnd;
  /** The conversation that goes on: its steps, the call that ended it, and what it comes to. */
  talk?: Readonly<{ steps: number; callId: string; ledger?: ContextLedger }>;
}>;

/**
 * `attempts`: the highest attempt of each task that was ever given to this pool. `open`: agents by
 * call.
 */
export type PoolState = Readonly<{
  ended: EndedWork;
  context: JsonValue;
  definitions: Members<AgentDefinition>;
  /** Aliases of the accepted plan; the gateway chooses where one stands for several models. */
  models: Members<ModelRoute>;
  /** By name of the agent: what it asks the servers of its tools before it begins. */
  checks?: Members<readonly ServerCheck[]>;
  agents: Members<AgentEntry>;
  attempts: Members<number>;
  open: Members<string>;
  /** The session of the goal, where this is a child session of it. */
  root?: string;
  /** By task: the newest attempt that failed or was stopped, for the next one to go on from. */
  earlier?: Members<AgentEntry>;
  /** By the task that was made: what agents of this pool gave to others, until they know what it came to. */
  delegations?: Members<Delegation>;
  /** How often each task was delegated from or handed on. */
  delegated?: Members<number>;
}>;

export const initialState: PoolState = {
  ended: nothingEnded,
  context: {},
  definitions: {},
  models: {},
  agents: {},
  attempts: {},
  open: {},
};

/** How a task came to its agent. */
export function lineageOf({ delegations = {} }: PoolState, task: string): Lineage {
  const { depth, depthMax, handoffs } = memberOf(delegations, task) ?? {};
  if (depth === undefined || handoffs === undefined) return ofPlan;
  // A task that was handed on lies as deep as it did; without delegation above it nothing limits that.
  return { depth, handoffs, ...(depth === 0 || depthMax === undefined ? {} : { depthMax }) };
}

/** Of an agent that did nothing yet. */
export const noUsage: Usage = {
  steps: 0,
  modelCalls: 0,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  costNanoUsd: 0,
};

export function newAgent(of: Pick<AgentEntry, 'task' | 'attempt' | 'name' | 'input'>): AgentEntry {
  return { ...of, calls: 0, usage: noUsage, tools: [], model: { call: '', tries: 0 } };
}

/** An agent is one attempt at one task, and named so. */
export const agentId = (task: string, attempt: number): string => `${task}.${attempt}`;

const timerPrefix = 'worker-pool/';

/** The timer of an agent's wait; `count` makes each one new. */
export const timerOf = (agent: string, count: number): string => `${timerPrefix}${agent}/${count}`;

/** The agent that a timer is about; undefined for timers of other services. */
export function agentOfTimer(timer: string): string | undefined {
  if (!timer.startsWith(timerPrefix)) return undefined;
  const end = timer.lastIndexOf('/');
  return end > timerPrefix.length ? timer.slice(timerPrefix.length, end) : undefined;
}

const wallPrefix = 'worker-pool-wall/';

/** The timer of an agent's wall time. */
export const wallTimerOf = (agent: string): string => `${wallPrefix}${agent}`;

/** The agent whose wall time this timer is; undefined for other timers. */
export const agentOfWallTimer = (timer: string): string | undefined =>
  timer.startsWith(wallPrefix) ? timer.slice(wallPrefix.length) : undefined;

const personPrefix = 'worker-pool-person/';

/** The timer of a question; `count` tells those who were asked one after another. */
export const personTimerOf = (question: string, count: number): string =>
  `${personPrefix}${question}/${count}`;

/** The question whose time this timer is; undefined for other timers. */
export function questionOfTimer(timer: string): string | undefined {
  if (!timer.startsWith(personPrefix)) return undefined;
  return timer.slice(personPrefix.length, timer.lastIndexOf('/'));
}

export type Verdict = Readonly<{
  what: 'retry' | 'give-up' | 'answer' | 'nobody';
  by?: string;
  answer?: JsonValue;
  reason?: string;
}>;

/** `told` once the model has answered to the error; `stepsBefore` are those of attempts before. */
export type Recovery = Readonly<{
  step: NonNullable<DataOf<'task.scheduled'>['recovery']>['step'];
  model?: string;
  mayRetry?: boolean;
  tried: readonly Tried[];
  told?: true;
  stepsBefore?: number;
  verdict?: Verdict;
}>;
