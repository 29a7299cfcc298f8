/**
 * The port between the chassis, which claims a tool call, and what carries it out. A runner answers
 * with an outcome and does not throw; it owns no retry and no policy.
 */
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { JsonValue } from '../../../schemas/json.ts';

export type ToolNotes = Readonly<Record<string, string | number | boolean>>;

/**
 * `retryable`: the same call may succeed later, unchanged. `fix` tells the caller what to do
 * instead.
 */
export type ToolFailure = Readonly<{
  code: string;
  message: string;
  class:
    | 'invalid-arguments'
    | 'not-found'
    | 'denied'
    | 'timeout'
    | 'cancelled'
    | 'limit'
    | 'crashed'
    | 'unavailable'
    | 'tool-error';
  retryable: boolean;
  fix?: string;
}>;

/**
 * `unknown`: it may have happened, nobody saw. Only for calls that must not simply be made again.
 */
export type ToolOutcome =
  | Readonly<{ kind: 'completed'; result: JsonValue; notes?: ToolNotes }>
  | Readonly<{ kind: 'failed'; error: ToolFailure; notes?: ToolNotes }>
  | Readonly<{ kind: 'unknown'; error: ToolFailure }>;

/** `deadlineAtMs` is in milliseconds since 1970; `signal` fires when the call is cancelled. */
export type ToolCall = Readonly<{
  callId: string;
  tool: string;
  arguments: JsonValue;
  deadlineAtMs: number;
  signal: AbortSignal;
  traceparent?: string;
  definition: ToolDefinition;
  /** Of a question to a server: the tools that it should have. */
  checked?: readonly ToolDefinition[];
}>;

export type ToolRunner = Readonly<{
  /** Carries the call out, once. Never rejects. */
  run(call: ToolCall): Promise<ToolOutcome>;
  /** Ends running calls and whatever was kept for later ones. */
  close(): Promise<void>;
}>;
