/**
 * Messages of a conversation with a model as the log holds them: what an agent adds, and the answer
 * that it reads. The gateway has the same shapes in its port; a test holds the two together.
 */

import type { JsonValue } from '../../schemas/json.ts';

/** `arguments` is text if the model did not write JSON. `id` is the provider's own. */
export type ModelToolCall = Readonly<{ id: string; name: string; arguments: JsonValue }>;

/** What an agent says to its model. */
export type NewMessage =
  | Readonly<{ role: 'system' | 'user'; text: string }>
  | Readonly<{
      role: 'tool';
      toolCallId: string;
      toolName: string;
      result: JsonValue;
      isError: boolean;
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
