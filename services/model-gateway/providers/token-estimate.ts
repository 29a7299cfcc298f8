/**
 * Token counts where nobody counts: characters divided by four, rounded up. An estimate, stated as
 * such wherever it is used.
 */

import type { ModelRequest } from './port.ts';

const charactersPerToken = 4;

/** Estimated tokens of `text`. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

/** Estimated input tokens of a request: its messages and the tools it offers. */
export function estimateInputTokens(request: ModelRequest): number {
  const tools = request.tools.length === 0 ? '' : JSON.stringify(request.tools);
  return estimateTokens(JSON.stringify(request.messages) + tools);
}

/** The beginning of `text` that is estimated at `tokens`. */
export function cutToTokens(text: string, tokens: number): string {
  return text.slice(0, tokens * charactersPerToken);
}
