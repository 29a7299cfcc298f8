/**
 * What the aggregator knows of one session, as plain JSON: outputs until they are joined, the
 * ending until it is published, and what the models cost. Tasks stand in the order of the plan.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanOutput } from '../../schemas/definitions/plan.ts';
import type { DataOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { type SessionStatus, sessionFold } from '../../state-machines/session/session-machine.ts';
import type { GoalScope } from '../chassis/catalog/goal-scope.ts';
import type { Members } from '../chassis/effects/member.ts';

export type JoinedTask = Readonly<{
  id: string;
  onFailure: 'fail' | 'continue';
  machine: Persisted;
  output: JsonValue;
}>;

/** How the session ended, until the result says it. */
export type Ending = Readonly<{
  status: SessionStatus;
  code: string | null;
  task: string | null;
  message: string | null;
  output: JsonValue;
  /** Where tasks contradicted each other; absent where they did not. */
  contradictions?: JsonValue;
}>;

/** A model that was asked to write the answer. */
export type SynthesisState = Readonly<{
  calls: number;
  open: string | null;
  answer?: string;
  failure?: Readonly<{ code: string; message: string; retryable: boolean }>;
}>;

export type Usage = Readonly<{
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: number;
  /** Of some calls nobody knows what they cost. */
  costKnown?: false;
}>;

export type Goal = Readonly<{
  goalId: string;
  goalLog: string;
  valueNanoUsd: number | null;
  openedAtMs: number;
  /** Of a child session: who hears of its end. */
  parent?: DataOf<'session.opened'>['parent'];
  /** The session whose past this one shares: nobody but its asker waits for a fork's result. */
  forkOf?: string;
  /** It has a share of the parent's budget: what it spent of it, once that is known. */
  share?: Readonly<{ spentNanoUsd?: number }>;
}>;

export type AggregatorState = Readonly<{
  session: Persisted;
  goal: Goal | null;
  /** Kept while a shape may need it. */
  scope: GoalScope | null;
  plan: string;
  output: PlanOutput | null;
  tasks: readonly JoinedTask[];
  /** Somebody asked for the end, or a service failed: how it ends is the supervisor's to say. */
  stopping: boolean;
  ending: Ending | null;
  /** The supervisor cannot decide in this session any more: what it alone would do falls to the aggregator. */
  orphaned?: Readonly<{ message: string; resultDelivered: boolean }>;
  /** Addresses of failed decisions whose dead letters are on their way. */
  letters?: readonly string[];
  usage: Usage;
  synthesis?: SynthesisState;
  /** Aliases of models as the session pinned them; kept where one is asked for a synthesis. */
  models?: PinnedCatalog['models'];
  /** Child sessions that have not ended, with the addresses of the events that opened them. */
  children?: Readonly<Record<string, string>>;
  /** Where the plan asks that parts be told. */
  progress?: ProgressState;
  /** The broker will never take the result; a failure that fits takes its place. */
  refused?: Readonly<{ code: string; message: string }>;
}>;

export const initialState: AggregatorState = {
  session: sessionFold.initial(),
  goal: null,
  scope: null,
  plan: '',
  output: null,
  tasks: [],
  stopping: false,
  ending: null,
  usage: { inputTokens: 0, outputTokens: 0, costNanoUsd: 0 },
};

export type Part = Readonly<{ task: string; attempt: number; output: JsonValue }>;

/** Set where the plan asks for it. */
export type ProgressState = Readonly<{
  /** Parts of which nobody has been told yet, oldest first. */
  due: readonly Part[];
  /** Branches of fan-outs, by id. */
  branches: Members<Persisted>;
  /** Addresses of what was told and has not reached the topic yet. */
  underWay: readonly string[];
}>;
