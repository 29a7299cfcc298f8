/**
 * Looks at every provider that is set up, and says what is wrong with it: a key that is missing or
 * refused, an address that nobody answers at, a model that the server does not have. Spends nothing.
 */

import { LongreinError, toError } from '../chassis/errors.ts';
import { nearest } from '../chassis/words/nearest.ts';
import {
  type ConfiguredServer,
  type Environment,
  environmentSecrets,
  readModelConfig,
  whyNoProvider,
} from './config.ts';
import { providerOf } from './model-name.ts';
import { keyOf, serversOf } from './routes.ts';

export type ModelCheck = Readonly<{ name: string; ok: boolean; detail: string; fix?: string }>;

/** A server that does not answer in this time is taken for one that is away. */
const timeoutMs = 5_000;

const bad = (name: string, detail: string, fix: string): ModelCheck => {
  return { name, ok: false, detail, fix };
};

function problem(name: string, thrown: unknown): ModelCheck {
  const fix = thrown instanceof LongreinError ? thrown.fix : undefined;
  return bad(name, toError(thrown).message, fix ?? 'Correct the settings of the model providers.');
}

/** Every provider, one line each; `models` are those that agents may name (`provider/model`). */
export async function checkModels(
  environment: Environment,
  models: readonly string[],
): Promise<ModelCheck[]> {
  try {
    const servers = serversOf(readModelConfig(environment));
    const secret = environmentSecrets(environment);
    const found = await Promise.all(
      servers.map((server) => {
        const named = models.filter((one) => one.startsWith(`${server.name}/`));
        const wanted = named.map((one) => one.slice(server.name.length + 1));
        return checkServer(server, { secret, wanted });
      }),
    );
    return [...found, ...withoutServer(models, ['scripted', ...servers.map(({ name }) => name)])];
  } catch (thrown) {
    return [problem('models', thrown)];
  }
}

/** A line for each provider that agents name and nobody has set up: their calls would fail for ever. */
function withoutServer(models: readonly string[], ready: readonly string[]): ModelCheck[] {
  const providers = [...new Set(models.map(providerOf))].filter((one) => !ready.includes(one));
  return providers.map((provider) => {
    const named = models.filter((one) => providerOf(one) === provider).join(', ');
    const { lack, fix } = whyNoProvider(provider);
    return bad(`model provider ${provider}`, `${lack}, but agents or plans name ${named}`, fix);
  });
}

type At = Readonly<{ secret: (variable: string) => string | undefined; wanted: readonly string[] }>;

async function checkServer(server: ConfiguredServer, at: At): Promise<ModelCheck> {
  const name = `model provider ${server.name}`;
  try {
    const key = keyOf(server, at);
    if (key === undefined && server.protocol === 'anthropic') {
      const fix = `Set ${server.apiKeyEnv ?? 'ANTHROPIC_API_KEY'} to your key.`;
      return bad(name, 'has no key', fix);
    }
    return judged(server, name, { ...at, response: await list(server, key) });
  } catch (thrown) {
    if (thrown instanceof LongreinError) return problem(name, thrown);
    const fix = 'Check the base URL, and that this machine can reach it.';
    return bad(name, `${server.baseUrl} does not answer (${reasonOf(thrown)})`, fix);
  }
}

function reasonOf(thrown: unknown): string {
  const { name, message, cause } = toError(thrown);
  if (name === 'TimeoutError') return `within ${timeoutMs} ms`;
  return cause instanceof Error ? cause.message || String(Reflect.get(cause, 'code')) : message;
}

function list({ baseUrl, protocol }: ConfiguredServer, key: string | undefined) {
  const headers: Record<string, string> =
    protocol === 'anthropic'
      ? { 'x-api-key': key ?? '', 'anthropic-version': '2023-06-01' }
      : key === undefined
        ? {}
        : { authorization: `Bearer ${key}` };
  const url = `${baseUrl.replace(/\/+$/, '')}/models`;
  return fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs) });
}

async function judged(
  server: ConfiguredServer,
  name: string,
  { response, wanted }: At & { response: Response },
): Promise<ModelCheck> {
  const { status } = response;
  const { baseUrl, apiKeyEnv, apiKeyFile } = server;
  if (status === 401 || status === 403) {
    const place = apiKeyEnv ?? apiKeyFile ?? 'its key';
    return bad(name, `${baseUrl} refuses the key (${status})`, `Put a valid key into ${place}.`);
  }
  // Some servers list nothing: they answer, and that is all that can be seen without spending.
  if (status !== 200) return { name, ok: true, detail: `${baseUrl} answers (${status})` };
  const known = idsIn(await response.json().catch(() => undefined));
  const missing = known.length === 0 ? undefined : wanted.find((one) => !known.includes(one));
  if (missing === undefined) return { name, ok: true, detail: `${baseUrl} answers` };
  const meant = nearest(missing, known) ?? known.slice(0, 8).join(', ');
  return bad(name, `${baseUrl} has no model ${missing}`, `Name one that it has: ${meant}.`);
}

function idsIn(body: unknown): string[] {
  const data: unknown = Object(body).data;
  if (!Array.isArray(data)) return [];
  return data.map((one) => String(Object(one).id ?? '')).filter((id) => id !== '');
}
