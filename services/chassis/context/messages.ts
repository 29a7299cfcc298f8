/**
 * Messages of a conversation with a model, as the log holds them: what an agent says, what a model answers, and the
 * answer as an agent reads it. Shared by who asks (worker pool), who sends (model gateway) and who looks (replay).
 */

import type { JsonObject, JsonValue } from '../../../schemas/json.ts';

/**
 * An image or another file: named by the digest of its blob, which holds its bytes as a JSON text in
 * base64; `base64` is there once it was read, and never in the log.
 */
export type ModelFile = Readonly<{ mediaType: string; blob: string; base64?: string }>;

/** `type/subtype`, as providers want it. */
export const mediaTypePattern = /^[a-z0-9]+\/[a-z0-9][a-z0-9.+-]{0,99}$/;

/** A call that a model asks for. `arguments` is text if it did not write JSON. `id` is the provider's own. */
export type ModelToolCall = Readonly<{ id: string; name: string; arguments: JsonValue }>;

/** A tool that is offered to a model. */
export type ModelTool = Readonly<{ name: string; description: string; inputSchema: JsonObject }>;

/** What an agent says to its model. */
export type NewMessage =
  | Readonly<{ role: 'system'; text: string }>
  | Readonly<{ role: 'user'; text: string; files?: readonly ModelFile[] }>
  | Readonly<{
      role: 'tool';
      toolCallId: string;
      toolName: string;
      result: JsonValue;
      isError: boolean;
    }>;

/** One message of a conversation, oldest first. */
export type ModelMessage =
  | NewMessage
  | Readonly<{
      role: 'assistant';
      text: string;
      toolCalls: readonly ModelToolCall[];
      /** What the provider wants back with its own message; opaque to everybody else. */
      reasoning?: JsonValue;
    }>;

/** What a model said: text, and the calls that it wants made before it goes on. */
export type ModelAnswer = Readonly<{ text: string; toolCalls: readonly ModelToolCall[] }>;

const isRecord = (value: unknown): value is Readonly<Record<string, JsonValue>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readCall(value: JsonValue): ModelToolCall | undefined {
  if (!isRecord(value)) return undefined;
  const { id, name, arguments: given } = value;
  if (typeof id !== 'string' || typeof name !== 'string') return undefined;
  return { id, name, arguments: given ?? {} };
}

/** The answer in a message as it was recorded; undefined if it is not one. */
export function readAnswer(message: JsonValue): ModelAnswer | undefined {
  if (!isRecord(message)) return undefined;
  const { text, toolCalls } = message;
  if (text !== undefined && typeof text !== 'string') return undefined;
  const listed = toolCalls ?? [];
  if (!Array.isArray(listed)) return undefined;
  const calls = listed.map(readCall).filter((call) => call !== undefined);
  return calls.length === listed.length ? { text: text ?? '', toolCalls: calls } : undefined;
}
