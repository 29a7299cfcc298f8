/**
 * Any server that speaks OpenAI's chat completions: OpenAI, OpenRouter, llama-server, Ollama, vLLM,
 * …
 */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { PriceBook } from '../prices.ts';
import { createAiSdkProvider } from './ai-sdk.ts';
import type { ModelProvider, StructuredOutput } from './port.ts';

/**
 * `apiKey` may be left out for a server that wants none; `baseUrl` ends before /chat/completions.
 */
export type OpenAiCompatibleOptions = Readonly<{
  name: string;
  baseUrl: string;
  apiKey?: string | undefined;
  keyVariable?: string | undefined;
  prices: PriceBook;
  nowMs(): number;
  firstTokenMs?: number | undefined;
  /** The longest pause in the middle of an answer; undefined: up to the deadline. */
  silenceMs?: number | undefined;
  structuredOutput?: StructuredOutput | undefined;
  stream?: boolean | undefined;
}>;

/** The provider for one such server. */
export function createOpenAiCompatibleProvider(options: OpenAiCompatibleOptions): ModelProvider {
  const { name, baseUrl, apiKey } = options;
  const sdk = createOpenAICompatible({
    name,
    baseURL: baseUrl,
    supportsStructuredOutputs: true,
    includeUsage: true,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  return createAiSdkProvider({
    ...options,
    languageModel: (model) => sdk.chatModel(model),
    embeddingModel: (model) => sdk.embeddingModel(model),
    secrets: apiKey === undefined ? [] : [apiKey],
  });
}
