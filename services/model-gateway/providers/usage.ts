/**
 * Token counts in one convention: input holds what was read from and written to a cache, output
 * holds reasoning. Providers differ: some count cached tokens inside the input, some beside it.
 */

import type { LanguageModelUsage } from 'ai';
import type { ModelRequest, ModelUsage } from './port.ts';
import { estimateInputTokens, estimateTokens } from './token-estimate.ts';

/** Counts of an answer, and whether the provider counted (true) or we estimated (false). */
export type CountedUsage = Readonly<{ usage: ModelUsage; counted: boolean }>;

/** What was used; estimated from characters if the provider tells nothing. */
export function usageOf(
  reported: LanguageModelUsage,
  request: ModelRequest,
  answer: string,
): CountedUsage {
  const { inputTokens, outputTokens } = reported;
  if (!inputTokens && !outputTokens) return { usage: estimated(request, answer), counted: false };
  const cacheReadTokens = count(
    reported.inputTokenDetails.cacheReadTokens || rawCount(reported, 'prompt_cache_hit_tokens'),
  );
  const cacheWriteTokens = count(
    reported.inputTokenDetails.cacheWriteTokens ||
      rawCount(reported, 'prompt_tokens_details', 'cache_write_tokens'),
  );
  const input = count(inputTokens);
  const cached = cacheReadTokens + cacheWriteTokens;
  const usage = {
    // More cached than input can only mean that the input was counted without the cache.
    inputTokens: cached > input ? input + cached : input,
    outputTokens: count(outputTokens),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: count(reported.outputTokenDetails.reasoningTokens),
  };
  return { usage, counted: true };
}

function estimated(request: ModelRequest, answer: string): ModelUsage {
  return {
    inputTokens: estimateInputTokens(request),
    outputTokens: estimateTokens(answer),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
}

function count(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0;
}

/** A count that the SDK passes through without reading it. */
function rawCount(reported: LanguageModelUsage, ...path: string[]): number {
  let value: unknown = reported.raw;
  for (const name of path) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  }
  return typeof value === 'number' ? value : 0;
}
