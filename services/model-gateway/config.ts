/**
 * Which models can be reached, from the environment: the only place in this service that reads it.
 * The config holds the names of key variables; the keys themselves are read when a provider is
 * made.
 */

import { z } from 'zod';
import { LongreinError } from '../chassis/errors.ts';
import { nearest } from '../chassis/words/nearest.ts';
import { parseModelName } from './model-name.ts';
import {
  type Protocol,
  type ProvidersFile,
  readProvidersFile,
  type ServerEntry,
} from './providers-file.ts';
import { serverUrl } from './server-url.ts';

/**
 * A server of one protocol. `apiKeyEnv` names the variable with its key; without one no key is
 * sent.
 */
export type ModelServer = Readonly<{
  name: string;
  baseUrl: string;
  apiKeyEnv?: string | undefined;
  /** A file that holds the key, in place of a variable. */
  apiKeyFile?: string | undefined;
  firstTokenMs?: number | undefined;
  /** The longest pause in the middle of an answer; undefined: up to the deadline. */
  silenceMs?: number | undefined;
  /** What of JSON it can promise. */
  structuredOutput?: ServerEntry['structuredOutput'];
  /** False: it is asked for whole answers. */
  stream?: boolean | undefined;
}>;

export type ConfiguredServer = ModelServer & Readonly<{ protocol: Protocol }>;

export type ModelConfig = Readonly<{
  /** "provider/model" that agents use where they name none. */
  defaultModel: string;
  scriptedFile?: string | undefined;
  pricesFile?: string | undefined;
  openaiCompatible: readonly ModelServer[];
  anthropic?: ModelServer | undefined;
  /** Those of the providers file. */
  servers?: readonly ConfiguredServer[] | undefined;
  /** Of the providers file: limits, budgets of a day, and how servers behave. */
  providers?: ProvidersFile | undefined;
}>;

/** Variables by name, as the process has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Looks up a key by the name of its variable. */
export type SecretLookup = (variable: string) => string | undefined;

const text = z.string().trim().min(1).optional();
const url = serverUrl.optional();
const variables = z.object({
  LONGREIN_MODEL: text,
  LONGREIN_SCRIPTED_FILE: text,
  LONGREIN_PRICES_FILE: text,
  LONGREIN_PROVIDERS_FILE: text,
  LONGREIN_OPENAI_BASE_URL: url,
  LONGREIN_ANTHROPIC_BASE_URL: url,
  OPENAI_API_KEY: text,
  ANTHROPIC_API_KEY: text,
  OPENROUTER_API_KEY: text,
});
type Variables = z.infer<typeof variables>;

const keyVariables: Readonly<Record<string, keyof Variables>> = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  openrouter: 'OPENROUTER_API_KEY',
};

/**
 * The config from `env`. Throws LongreinError CONFIG_INVALID if a variable has a wrong shape, or if
 * LONGREIN_MODEL chooses a provider whose key is missing; the message names the variable.
 */
export function readModelConfig(env: Environment = process.env): ModelConfig {
  const read = readVariables(env);
  const path = read.LONGREIN_PROVIDERS_FILE;
  const providers = path === undefined ? undefined : readProvidersFile(path);
  const config: ModelConfig = withFile(
    {
      defaultModel: read.LONGREIN_MODEL ?? 'scripted/demo',
      scriptedFile: read.LONGREIN_SCRIPTED_FILE,
      pricesFile: read.LONGREIN_PRICES_FILE,
      openaiCompatible: [...openai(read), ...openrouter(read)],
      anthropic: anthropic(read),
    },
    providers,
  );
  requireProvider(config, read);
  return config;
}

/** Looks up keys in `env`. */
export function environmentSecrets(env: Environment = process.env): SecretLookup {
  return (variable) => env[variable]?.trim() || undefined;
}

function readVariables(env: Environment): Variables {
  // An empty variable is one that is not set: shells and Compose files cannot always unset them.
  const names = Object.keys(variables.shape);
  const set = names.map((name) => [name, env[name]?.trim() || undefined]);
  const parsed = variables.safeParse(Object.fromEntries(set));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(`${issue?.path.join('.')} ${issue?.message}`, 'Correct the variable or unset it.');
}

/** What the file says of a provider stands in place of what its usual variables say. */
function withFile(config: ModelConfig, providers: ProvidersFile | undefined): ModelConfig {
  if (providers === undefined) return config;
  const servers = providers.servers.flatMap((entry) => serverOf(entry, config));
  const named = new Set(servers.map(({ name }) => name));
  return {
    ...config,
    openaiCompatible: config.openaiCompatible.filter(({ name }) => !named.has(name)),
    anthropic: named.has('anthropic') ? undefined : config.anthropic,
    servers,
    providers,
  };
}

const usualUrls: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  openrouter: 'https://openrouter.ai/api/v1',
};

/** None for `scripted`, which is no server: the file only limits it. */
function serverOf(entry: ServerEntry, config: ModelConfig): ConfiguredServer[] {
  const { name, protocol, key, firstTokenMs, silenceMs, structuredOutput, stream } = entry;
  if (name === 'scripted') return [];
  const known = [...config.openaiCompatible, config.anthropic].find((one) => one?.name === name);
  const baseUrl = entry.baseUrl ?? known?.baseUrl ?? usualUrls[name];
  if (baseUrl === undefined) {
    const message = `the provider ${name} of the providers file has no baseUrl`;
    throw invalid(message, 'Give it one: the URL in front of /chat/completions or /messages.');
  }
  const usual = known?.apiKeyEnv ?? (entry.baseUrl === undefined ? keyVariables[name] : undefined);
  const place =
    key !== undefined && 'file' in key
      ? { apiKeyFile: key.file }
      : { apiKeyEnv: key === undefined ? usual : key.env };
  return [{ name, protocol, baseUrl, ...place, firstTokenMs, silenceMs, structuredOutput, stream }];
}

function openai(read: Variables): ModelServer[] {
  const baseUrl = read.LONGREIN_OPENAI_BASE_URL;
  if (baseUrl === undefined && read.OPENAI_API_KEY === undefined) return [];
  const apiKeyEnv = read.OPENAI_API_KEY === undefined ? undefined : 'OPENAI_API_KEY';
  return [{ name: 'openai', baseUrl: baseUrl ?? 'https://api.openai.com/v1', apiKeyEnv }];
}

function openrouter(read: Variables): ModelServer[] {
  if (read.OPENROUTER_API_KEY === undefined) return [];
  const baseUrl = 'https://openrouter.ai/api/v1';
  return [{ name: 'openrouter', baseUrl, apiKeyEnv: 'OPENROUTER_API_KEY' }];
}

function anthropic(read: Variables): ModelServer | undefined {
  if (read.ANTHROPIC_API_KEY === undefined) return undefined;
  const baseUrl = read.LONGREIN_ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com/v1';
  return { name: 'anthropic', baseUrl, apiKeyEnv: 'ANTHROPIC_API_KEY' };
}

function requireProvider(config: ModelConfig, read: Variables): void {
  const { provider } = parseModelName(config.defaultModel);
  const ready = ['scripted', ...config.openaiCompatible.map((server) => server.name)];
  if (config.anthropic !== undefined) ready.push(config.anthropic.name);
  ready.push(...(config.servers ?? []).map((server) => server.name));
  if (ready.includes(provider)) return;
  const chosen = `LONGREIN_MODEL is ${read.LONGREIN_MODEL}`;
  const { lack, fix } = whyNoProvider(provider);
  throw invalid(`${chosen}, but ${lack}`, fix);
}

/** Why a provider that nothing sets up is not there, and what to do: its key, or its name. */
export function whyNoProvider(provider: string): Readonly<{ lack: string; fix: string }> {
  const variable = keyVariables[provider];
  if (variable === undefined) {
    const known = ['scripted', ...Object.keys(keyVariables)];
    const near = nearest(provider, known);
    const meant = near === undefined ? '' : `Did you mean ${near}? `;
    const fix = `${meant}Choose one of: ${known.join(', ')}, or describe ${provider} in the file that LONGREIN_PROVIDERS_FILE names.`;
    return { lack: `there is no provider ${provider}`, fix };
  }
  const local = provider === 'openai' ? ' For a local server set LONGREIN_OPENAI_BASE_URL.' : '';
  return { lack: `${variable} is not set`, fix: `Set ${variable} to your key.${local}` };
}

function invalid(message: string, fix: string): LongreinError {
  return new LongreinError('CONFIG_INVALID', message, { fix });
}
