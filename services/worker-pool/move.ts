/** What an agent does next, before it is written as events. */

import type { Embedding } from '../../schemas/definitions/agent.ts';
import type { ContentDraft } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { NewMessage } from '../chassis/context/messages.ts';
import type { Failure } from './state.ts';

/**
 * `step` counts from 1: a procedure's steps by place, a model's answers. `modelCallId` is the
 * provider's own.
 */
export type ToolRequest = Readonly<{
  step: number;
  tool: string;
  arguments: JsonValue;
  modelCallId?: string;
}>;

/** Asks the model, for the step or, where `summarises` is there, for a summary of steps. */
export type ModelRequest = Readonly<{
  kind: 'ask-model';
  step: number;
  messages: readonly NewMessage[];
  repair?: number;
  fallback?: number;
  /** Steps that leave the conversation, and what stands for them. */
  omit?: readonly number[];
  note?: string;
  contextTokens?: number;
  summarises?: readonly number[];
}>;

/** Asks a person for something that is no call of the agent: more money, or what to do about a failure. */
export type PersonRequest = Readonly<{
  kind: 'ask-person';
  about: 'budget' | 'failure';
  question: string;
  amountNanoUsd?: number;
}>;

/** Asks for the vectors of these texts. */
export type EmbedRequest = Readonly<{
  kind: 'embed';
  step: number;
  texts: readonly string[];
  embedding: Embedding;
}>;

export type Move =
  | EmbedRequest
  | PersonRequest
  | Readonly<{ kind: 'call-tools'; requests: readonly ToolRequest[] }>
  | ModelRequest
  | Readonly<{ kind: 'wait'; delayMs: number }>
  | Readonly<{ kind: 'complete'; output: ContentDraft }>
  | Readonly<{ kind: 'fail'; failure: Failure }>;

/** What the expressions of an agent see, besides the results of its steps. */
export type Scope = Readonly<{ input: JsonValue; context: JsonValue }> & JsonObject;

export const failed = (failure: Failure): Move => ({ kind: 'fail', failure });
