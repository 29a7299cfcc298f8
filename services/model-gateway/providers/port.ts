/**
 * The port between the model gateway and whoever answers: one request, one outcome, never an
 * exception. Retries, fallback and budgets belong to the gateway; a provider makes exactly one
 * attempt.
 */

import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { ModelMessage, ModelTool, ModelToolCall } from '../../chassis/context/messages.ts';

export type {
  ModelFile,
  ModelMessage,
  ModelTool,
  ModelToolCall,
} from '../../chassis/context/messages.ts';

/**
 * `schema`: it answers with JSON of a schema, but may do so before it has called a tool, and is asked
 * only where there are none; `schema-beside-tools`: it can do both; `json`: JSON of any shape; `none`:
 * nothing of the kind.
 */
export const structuredOutputs = ['schema', 'schema-beside-tools', 'json', 'none'] as const;
export type StructuredOutput = (typeof structuredOutputs)[number];

/** One request. `model` is "provider/model"; `deadlineAtMs` is Unix time. */
export type ModelRequest = Readonly<{
  callId: string;
  model: string;
  messages: readonly ModelMessage[];
  tools: readonly ModelTool[];
  outputTokensMax: number;
  temperature?: number;
  signal: AbortSignal;
  deadlineAtMs: number;
  traceparent?: string;
  /** The agent's input, for the scripted provider. */
  input?: JsonValue;
  /** The answer has to be JSON of this schema, where the provider can promise that. */
  outputSchema?: JsonObject;
  /** Told the text as it comes. Nothing of it counts before the outcome. */
  onText?: (text: string) => void;
  /** Vectors of these are wanted; there are no messages then. */
  texts?: readonly string[];
}>;

/**
 * Tokens used. `inputTokens` holds those read from and written to a cache; output holds reasoning.
 */
export type ModelUsage = Readonly<{
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}>;

/**
 * What a call cost, in whole nano-USD. `known` is false if there is no price or no count for it.
 */
export type ModelCost = Readonly<{ costNanoUsd: number; known: boolean; priceVersion: string }>;

export type ModelFailureClass =
  | 'rate-limited'
  | 'overloaded'
  | 'timeout'
  | 'cancelled'
  | 'unavailable'
  | 'authentication'
  | 'invalid-request'
  | 'context-too-long'
  | 'content-filter'
  | 'provider-error';

/** Why there is no answer. `retryable`: the same request may succeed later. */
export type ModelFailure = Readonly<{
  code: string;
  message: string;
  class: ModelFailureClass;
  retryable: boolean;
  retryAfterMs?: number;
  fix?: string;
}>;

export type ModelFinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

/**
 * An answer. `model` is the one that answered, which may be a dated version of the one asked for.
 */
export type ModelCompleted = Readonly<{
  kind: 'completed';
  message: Readonly<{
    text: string;
    toolCalls: readonly ModelToolCall[];
    reasoning?: JsonValue;
    /** One for each text, in their order. */
    vectors?: readonly (readonly number[])[];
  }>;
  finishReason: ModelFinishReason;
  usage: ModelUsage;
  cost: ModelCost;
  provider: string;
  model: string;
  /** It was given before, to an equal request. */
  cached?: true;
}>;

export type ModelFailed = Readonly<{
  kind: 'failed';
  error: ModelFailure;
  usage?: ModelUsage;
  cost?: ModelCost;
}>;

export type ModelOutcome = ModelCompleted | ModelFailed;

/** What a call may use at most; `model` is "provider/model". */
export type QuotedUse = Readonly<{
  model: string;
  inputTokensMost: number;
  outputTokensMax: number;
}>;

/** Somebody who answers. `complete` resolves for every outcome, also for cancel and deadline. */
export type ModelProvider = Readonly<{
  name: string;
  complete(request: ModelRequest): Promise<ModelOutcome>;
  /** What such a use costs by the prices of now; `known` is false where there is no price. */
  quote(use: QuotedUse): ModelCost;
}>;
