import { z } from 'zod';
import { LongreinError } from '../chassis/errors.ts';

/**
 * Where ClickHouse is, and who asks. The database is always `longrein`: its name stands in the
 * migrations.
 */
export type EventStoreConfig = Readonly<{
  url: string;
  user: string;
  password: string;
  /** How long one request may take, in milliseconds. */
  requestTimeoutMs: number;
  /** Tables are made for a cluster with Keeper. */
  replicated: boolean;
}>;

type Environment = Readonly<Record<string, string | undefined>>;

const urlError = 'must be an http or https URL, such as http://127.0.0.1:8123';

const variables = z.object({
  LONGREIN_CLICKHOUSE_URL: z.url({ protocol: /^https?$/, error: urlError }).optional(),
  LONGREIN_CLICKHOUSE_USER: z.string().min(1).optional(),
  LONGREIN_CLICKHOUSE_PASSWORD: z.string().optional(),
  LONGREIN_CLICKHOUSE_REPLICATED: z.enum(['0', '1']).default('0'),
  LONGREIN_CLICKHOUSE_TIMEOUT_MS: z.coerce.number().int().min(1_000).max(600_000).default(30_000),
});

/**
 * The config from the environment; `known.url` is used where no variable gives one. Throws
 * CONFIG_INVALID, which names the variable, or CONFIG_MISSING.
 */
export function readEventStoreConfig(
  environment: Environment = process.env,
  known: { url?: string | undefined } = {},
): EventStoreConfig {
  const read = readVariables(environment);
  const url = read.LONGREIN_CLICKHOUSE_URL ?? known.url;
  if (url === undefined) {
    const fix = 'run `longrein up` for a local stack, or set LONGREIN_CLICKHOUSE_URL';
    throw new LongreinError('CONFIG_MISSING', 'no ClickHouse is known', { fix });
  }
  // A client that is given both prints a warning with each start.
  const address = new URL(url);
  const [user, password] = [address.username, address.password].map(decoded);
  Object.assign(address, { username: '', password: '' });
  return {
    url: address.href.replace(/\/+$/, ''),
    user: read.LONGREIN_CLICKHOUSE_USER ?? (user || 'default'),
    password: read.LONGREIN_CLICKHOUSE_PASSWORD ?? password ?? '',
    requestTimeoutMs: read.LONGREIN_CLICKHOUSE_TIMEOUT_MS,
    replicated: read.LONGREIN_CLICKHOUSE_REPLICATED === '1',
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    const message = 'LONGREIN_CLICKHOUSE_URL holds a user or a password that cannot be decoded';
    const fix = 'write % as %25 in them, or set LONGREIN_CLICKHOUSE_USER and _PASSWORD';
    throw new LongreinError('CONFIG_INVALID', message, { fix, cause });
  }
}

function readVariables(environment: Environment): z.infer<typeof variables> {
  // An empty variable is one that is not set: shells and Compose files cannot always unset them.
  const names = Object.keys(variables.shape);
  const set = names.map((name) => [name, environment[name] || undefined]);
  const parsed = variables.safeParse(Object.fromEntries(set));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const message = `${issue?.path.join('.')} ${issue?.message}`;
  throw new LongreinError('CONFIG_INVALID', message, { fix: 'Correct the variable or unset it.' });
}
