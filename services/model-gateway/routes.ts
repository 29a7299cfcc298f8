/** From the name of a model to the provider that answers for it. */

import { readFileSync } from 'node:fs';
import { LongreinError } from '../chassis/errors.ts';
import type { ConfiguredServer, ModelConfig, ModelServer, SecretLookup } from './config.ts';
import { parseModelName } from './model-name.ts';
import type { PriceBook } from './prices.ts';
import type { ModelProvider } from './providers/port.ts';
import { readScriptedProvider } from './providers/scripted.ts';

export { type ModelName, parseModelName } from './model-name.ts';

export type ModelProviders = ReadonlyMap<string, ModelProvider>;

/**
 * What providers need besides config. `nowMs` gives Unix time; `scripts` are files with the answers
 * of the provider `scripted`, where config names none.
 */
export type ProviderParts = Readonly<{
  secret: SecretLookup;
  nowMs(): number;
  scripts?: readonly string[];
}>;

/**
 * The providers that `config` names, by name. Throws LongreinError: CONFIG_INVALID for a missing
 * key or a name used twice, SCRIPTED_RULES_INVALID, EXPRESSION_INVALID or PRICES_INVALID for a
 * file.
 */
export async function createProviders(
  config: ModelConfig,
  parts: ProviderParts,
): Promise<ModelProviders> {
  const providers = new Map<string, ModelProvider>();
  const add = (provider: ModelProvider): void => {
    if (providers.has(provider.name)) throw usedTwice(provider.name);
    providers.set(provider.name, provider);
  };
  const scripts = config.scriptedFile ? [config.scriptedFile] : (parts.scripts ?? []);
  if (scripts.length > 0) add(readScriptedProvider(scripts, parts.nowMs));
  for (const provider of await remoteProviders(config, parts)) add(provider);
  return providers;
}

/**
 * The provider for `model` ("provider/model"). Throws LongreinError MODEL_UNKNOWN or
 * MODEL_NAME_INVALID.
 */
export function providerFor(model: string, providers: ModelProviders): ModelProvider {
  const { provider } = parseModelName(model);
  const found = providers.get(provider);
  if (found !== undefined) return found;
  const known = [...providers.keys()].join(', ') || 'none';
  throw new LongreinError('MODEL_UNKNOWN', `no provider ${provider} for the model ${model}`, {
    fix: `Configure ${provider} (its key variable), or use one of those configured: ${known}.`,
  });
}

/** Every server of the config, with what it speaks. */
export const serversOf = (config: ModelConfig): readonly ConfiguredServer[] => [
  ...config.openaiCompatible.map((one) => ({ ...one, protocol: 'openai' as const })),
  ...(config.anthropic ? [{ ...config.anthropic, protocol: 'anthropic' as const }] : []),
  ...(config.servers ?? []),
];

/**
 * The SDK and the price table take 20 MB: they are loaded only where a real provider is configured.
 */
async function remoteProviders(
  config: ModelConfig,
  parts: ProviderParts,
): Promise<ModelProvider[]> {
  const all = serversOf(config);
  if (all.length === 0) return [];
  const prices = await loadPriceBook(config);
  return Promise.all(all.map((server) => remoteProvider(server, parts, prices)));
}

async function remoteProvider(
  server: ConfiguredServer,
  parts: ProviderParts,
  prices: PriceBook,
): Promise<ModelProvider> {
  const apiKey = keyOf(server, parts);
  const options = optionsOf(server, parts, prices);
  if (server.protocol === 'openai') {
    const { createOpenAiCompatibleProvider } = await import('./providers/openai-compatible.ts');
    return createOpenAiCompatibleProvider({ ...options, apiKey });
  }
  if (apiKey === undefined) throw missingKey(server, server.apiKeyEnv ?? 'ANTHROPIC_API_KEY');
  const { createAnthropicProvider } = await import('./providers/anthropic.ts');
  return createAnthropicProvider({ ...options, apiKey });
}

async function loadPriceBook(config: ModelConfig): Promise<PriceBook> {
  const { createPriceBook } = await import('./prices.ts');
  if (config.pricesFile === undefined) return createPriceBook();
  const { readPriceOverrides } = await import('./price-file.ts');
  return createPriceBook(readPriceOverrides(config.pricesFile));
}

function optionsOf(server: ModelServer, parts: ProviderParts, prices: PriceBook) {
  const {
    name,
    baseUrl,
    apiKeyEnv,
    apiKeyFile,
    firstTokenMs,
    silenceMs,
    structuredOutput,
    stream,
  } = server;
  return {
    name,
    baseUrl,
    keyVariable: apiKeyEnv ?? apiKeyFile,
    firstTokenMs,
    silenceMs,
    structuredOutput,
    stream,
    prices,
    nowMs: parts.nowMs,
  };
}

/** The key of a server; undefined where it has none. Throws LongreinError CONFIG_INVALID. */
export function keyOf(
  server: ModelServer,
  parts: Pick<ProviderParts, 'secret'>,
): string | undefined {
  if (server.apiKeyFile !== undefined) return readKeyFile(server.apiKeyFile, server);
  if (server.apiKeyEnv === undefined) return undefined;
  const key = parts.secret(server.apiKeyEnv);
  if (key === undefined) throw missingKey(server, server.apiKeyEnv);
  return key;
}

function readKeyFile(path: string, { name }: ModelServer): string {
  const text = `the key file of the provider ${name}, ${path},`;
  const fix = 'Write the key, and nothing else, into that file.';
  try {
    const key = readFileSync(path, 'utf8').trim();
    if (key !== '') return key;
  } catch (thrown) {
    throw new LongreinError('CONFIG_INVALID', `${text} cannot be read`, { fix, cause: thrown });
  }
  throw new LongreinError('CONFIG_INVALID', `${text} is empty`, { fix });
}

function missingKey(server: ModelServer, variable: string): LongreinError {
  const text = `the provider ${server.name} needs a key, but ${variable} is not set`;
  return new LongreinError('CONFIG_INVALID', text, { fix: `Set ${variable} to your key.` });
}

function usedTwice(name: string): LongreinError {
  const text = `two model providers are called ${name}`;
  return new LongreinError('CONFIG_INVALID', text, { fix: 'Give each provider its own name.' });
}
