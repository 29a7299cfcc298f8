/**
 * What the model gateway knows of one session: conversations, open calls, money. Plain JSON; evolve.ts
 * folds it.
 */

import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import type { DataOf } from '../../schemas/event.ts';
import type { Conversation } from '../chassis/context/conversation.ts';
import type { ModelMessage } from '../chassis/context/messages.ts';
import { type EndedWork, nothingEnded } from '../chassis/effects/ended-work.ts';
import type { Members } from '../chassis/effects/member.ts';
import type { AgentRules } from './agent-rules.ts';
import type { Ledger } from './ledger.ts';

/**
 * A model call without an outcome. `claims` counts claims; `claim` is the address of the newest.
 */
export type ModelCallEntry = Readonly<{
  agent: string;
  task: string;
  taskAttempt: number;
  model: string;
  tools: readonly string[];
  outputTokensMax: number;
  timeoutMs: number;
  claims: number;
  claim: string;
  cancelled: boolean;
  /** Of the session's budget, of its task and of the day, for all claims of this call. */
  heldNanoUsd?: number;
  /** What the newest claim holds, and why. */
  quote?: Quote;
  /** The log whose money of the day it holds. */
  budgetLog?: string;
  requestedAtMs?: number;
  /** Of an agent that has rules of its own. */
  agentName?: string;
  /** The model of the newest claim. */
  chosen?: string;
  /** Tries of this call that failed, oldest first. */
  tried?: readonly Tried[];
  /** Until when it waits, if nothing comes before. */
  waitsUntilMs?: number;
  /** A request for a summary: the steps that it is about, and its own messages. */
  summary?: Readonly<{ summarises: readonly number[]; asked: readonly ModelMessage[] }>;
  /** A request for the vectors of these texts. */
  embed?: Readonly<{ texts: readonly string[]; cacheMs?: number }>;
}>;

/** A try that failed; `address` is that of the event that said so, for the jitter of the next. */
export type Tried = Readonly<{
  model: string;
  code: string;
  class: DataOf<'model.attempt-failed'>['class'];
  retryable: boolean;
  retryAfterMs: number;
  atMs: number;
  address: string;
}>;

/** `heldNanoUsd` is missing until it is answered; until then it shares what is left with `sharers`, itself among them. */
export type ChildPurse = Readonly<{
  task: string;
  ordinal: number;
  sharers: number;
  heldNanoUsd?: number;
  /** Of the event that opened it. */
  address?: string;
}>;

export const usualLane = 'normal';

/** `budgetNanoUsd` is null where the goal set none; `spentNanoUsd` sums what outcomes cost, and
 * what claims that were lost may have cost. */
export type ModelGatewayState = Readonly<{
  ended: EndedWork;
  budgetNanoUsd: number | null;
  spentNanoUsd: number;
  tools: Members<ToolDefinition>;
  conversations: Members<KeptConversation>;
  calls: Members<ModelCallEntry>;
  /** Names that stand for several models, as the accepted plan pins them. */
  routes?: Members<readonly string[]>;
  /** Names of agents whose attempts go on from the one before. */
  resuming?: readonly string[];
  /** Where answers of budget logs go; `usualLane` where it is missing. */
  lane?: string;
  agentRules?: Members<AgentRules>;
  /** Tasks that have a budget of their own. */
  tasks?: Members<Readonly<{ budgetNanoUsd: number; spentNanoUsd: number }>>;
  /** Borrowed of the tenant's day, by budget log. */
  tranches?: Members<Tranche>;
  /** Of a child session whose budget is a share of its parent's: whether it said what it spent. */
  share?: Readonly<{ settled?: true }>;
  /** Child sessions that wait for money of the budget, or hold some. */
  children?: Members<ChildPurse>;
  /** What is set aside for delegated work that has not ended, by its task. */
  asides?: Asides;
  /** Set in a budget log, and nothing else is then. */
  ledger?: Ledger;
}>;

export const initialState: ModelGatewayState = {
  ended: nothingEnded,
  budgetNanoUsd: null,
  spentNanoUsd: 0,
  tools: {},
  conversations: {},
  calls: {},
};

/** The call that a timer of this service is for; undefined for timers of others. */
export const callOfTimer = (timer: string): string | undefined =>
  timer.startsWith('model/') ? timer.slice('model/'.length) : undefined;

export const timerOfCall = (call: string): string => `model/${call}`;

/** What a call can cost at most, by the prices of a host: a fact of the decision. */
export type Quote = Readonly<{
  inputTokensMost: number;
  costNanoUsd: number;
  known: boolean;
  priceVersion: string;
}>;

/**
 * `task` where another attempt may go on with it; `over` once its agent is gone; `handedTo` is the task whose agent goes
 * on with it.
 */
export type KeptConversation = Conversation &
  Readonly<{ task?: string; over?: true; handedTo?: string }>;

/** `number` counts the requests; `spentNanoUsd` is of what is lent now. */
export type Tranche = Readonly<{
  day: string;
  number: number;
  lentNanoUsd: number;
  spentNanoUsd: number;
  /** Address of the request that waits for its answer. */
  awaits?: string;
  /** The log had no more when it was asked. */
  refused?: Readonly<{ leftNanoUsd: number; limitNanoUsd: number }>;
  returned?: true;
}>;

/** `setAsideNanoUsd` is missing until it is decided; `spentNanoUsd` is of the work and all that it delegated. */
export type Aside = Readonly<{
  percent: number;
  mostNanoUsd?: number;
  setAsideNanoUsd?: number;
  spentNanoUsd: number;
}>;

export type Asides = Members<Aside>;
