/** Anthropic's messages protocol. */

import { createAnthropic } from '@ai-sdk/anthropic';
import type { PriceBook } from '../prices.ts';
import { createAiSdkProvider } from './ai-sdk.ts';
import type { ModelProvider, StructuredOutput } from './port.ts';

export type AnthropicOptions = Readonly<{
  name: string;
  baseUrl: string;
  apiKey: string;
  keyVariable?: string | undefined;
  prices: PriceBook;
  nowMs(): number;
  firstTokenMs?: number | undefined;
  /** The longest pause in the middle of an answer; undefined: up to the deadline. */
  silenceMs?: number | undefined;
  structuredOutput?: StructuredOutput | undefined;
  stream?: boolean | undefined;
}>;

/** The provider for Anthropic, or for a server that speaks its protocol. */
export function createAnthropicProvider(options: AnthropicOptions): ModelProvider {
  const sdk = createAnthropic({ baseURL: options.baseUrl, apiKey: options.apiKey });
  return createAiSdkProvider({
    ...options,
    languageModel: (model) => sdk(model),
    secrets: [options.apiKey],
  });
}
