/**
 * What a provider wants back with its own message (signed reasoning, signatures of calls), kept as
 * JSON in `reasoning` of a message. It is given back only to the provider that made it: others
 * refuse it.
 */

import type { ProviderMetadata } from 'ai';
import { z } from 'zod';
import type { JsonValue } from '../../../schemas/json.ts';

/** The parts and options to send back; empty if there are none for this provider. */
export type Reasoning = Readonly<{
  parts: readonly { type: 'reasoning'; text: string; providerOptions?: ProviderMetadata }[];
  calls: ReadonlyMap<string, ProviderMetadata>;
}>;

/** What an answer holds that has to come back. */
export type AnsweredReasoning = Readonly<{
  reasoning: readonly { text: string; providerMetadata?: ProviderMetadata | undefined }[];
  toolCalls: readonly { toolCallId: string; providerMetadata?: ProviderMetadata | undefined }[];
}>;

const options = z.record(z.string(), z.record(z.string(), z.json()));
const stored = z.object({
  provider: z.string(),
  parts: z.array(z.object({ text: z.string(), options: options.optional() })),
  calls: z.record(z.string(), options),
});

/** The JSON to keep for an answer of `provider`, or undefined if nothing has to come back. */
export function keepReasoning(answer: AnsweredReasoning, provider: string): JsonValue | undefined {
  const parts = answer.reasoning.map(({ text, providerMetadata }) => ({
    text,
    options: providerMetadata,
  }));
  const calls = answer.toolCalls
    .filter((call) => call.providerMetadata !== undefined)
    .map((call) => [call.toolCallId, call.providerMetadata]);
  if (parts.length === 0 && calls.length === 0) return undefined;
  const kept = { provider, parts, calls: Object.fromEntries(calls) };
  // Through text, so that only what JSON holds is kept.
  const plain: JsonValue = JSON.parse(JSON.stringify(kept));
  return plain;
}

/** What was kept for `provider`; nothing if another one made it, or if it has another shape. */
export function readReasoning(kept: JsonValue | undefined, provider: string): Reasoning {
  const parsed = stored.safeParse(kept);
  if (!parsed.success || parsed.data.provider !== provider) return { parts: [], calls: new Map() };
  const parts = parsed.data.parts.map((part) => ({
    type: 'reasoning' as const,
    text: part.text,
    ...(part.options === undefined ? {} : { providerOptions: part.options }),
  }));
  return { parts, calls: new Map(Object.entries(parsed.data.calls)) };
}
