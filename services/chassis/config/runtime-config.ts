import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { type AblatableRule, rulesNamed } from '../ablation.ts';
import { type KeySettings, keySettingsOf } from '../content/open-keys.ts';
import { LongreinError, toError } from '../errors.ts';
import { logLevels } from '../telemetry/logger.ts';
import { packageRoot } from './package-root.ts';

/** Settings that every process shares. Read once, from the environment and the local stack's file. */

const stackSchema = z.object({
  brokers: z.array(z.string()).optional(),
  registryUrl: z.string().nullish(),
  clickhouseUrl: z.string().nullish(),
});

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== ''),
);
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

const environmentSchema = z.object({
  LONGREIN_BROKERS: list.optional(),
  LONGREIN_REGISTRY_URL: z.url().optional(),
  LONGREIN_CLICKHOUSE_URL: z.url().optional(),
  LONGREIN_STATE_DIR: z.string().min(1).optional(),
  LONGREIN_BLOB_DIR: z.string().min(1).optional(),
  LONGREIN_CATALOG: list.optional(),
  LONGREIN_WORKSPACE: z.string().min(1).optional(),
  LONGREIN_PARTITIONS: whole(1, 1024).default(12),
  LONGREIN_REPLICATION: whole(1, 9).default(1),
  LONGREIN_FSYNC: z.enum(['0', '1']).default('0'),
  LONGREIN_SESSION_TIMEOUT_MS: whole(6_000, 300_000).default(10_000),
  LONGREIN_HOUSEKEEPING_MS: whole(100, 600_000).default(5_000),
  LONGREIN_RETENTION_DAYS: z.coerce.number().min(0).max(36_500).default(30),
  LONGREIN_LOG_LEVEL: z.enum(logLevels).default('info'),
  LONGREIN_MODEL: z.string().min(3).max(200).optional(),
  LONGREIN_MASKS_FILE: z.string().min(1).optional(),
  LONGREIN_ABLATE: list.optional(),
  LONGREIN_HOST: z.string().min(1).max(100).optional(),
  LONGREIN_HEALTH_PORT: z.union([z.literal('auto'), whole(1, 65_535)]).optional(),
  LONGREIN_HEALTH_HOST: z.string().min(1).max(255).default('127.0.0.1'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  OTEL_METRIC_EXPORT_INTERVAL: whole(100, 3_600_000).default(60_000),
});

/** Where a process says whether it lives, whether it is ready, and its figures. */
export type HealthAddress = Readonly<{
  host: string;
  /** `auto`: a free one, told in `<stateDir>/health/<pid>.json`. */
  port: number | 'auto';
}>;

export type RuntimeConfig = Readonly<{
  brokers: readonly string[];
  registryUrl: string;
  clickhouseUrl: string | undefined;
  stateDir: string;
  blobDir: string;
  /** What is masked in logs as personal data; the usual where none is named. */
  masksFile?: string | undefined;
  /** Absent: contents stand open, and marks of erasures are in the state directory. */
  keys?: KeySettings;
  catalogDirs: readonly string[];
  /** What file tools may read. */
  workspaceDir: string;
  partitions: number;
  replication: number;
  /** New topics have each write on disk before the answer: for a broker without replicas. */
  fsync: boolean;
  sessionTimeoutMs: number;
  housekeepingMs: number;
  /** Records of session logs that no service needs are kept that long. */
  retentionDays: number;
  logLevel: (typeof logLevels)[number];
  host: string;
  otlpEndpoint: string | undefined;
  /** Metrics go there so often; a minute if not said. */
  metricExportMs?: number;
  /** Absent: nothing listens. */
  health?: HealthAddress;
  /** `provider/model` that every model alias of the catalog stands for; undefined: as the files say. */
  model: string | undefined;
  /** What records and heartbeats say wrote them, where that is not this package's version. */
  release?: string;
  /** Rules of the log that are taken away, for tests only. */
  ablate: readonly AblatableRule[];
}>;

type Environment = Readonly<Record<string, string | undefined>>;

function parse(environment: Environment): z.infer<typeof environmentSchema> {
  const known = Object.keys(environmentSchema.shape);
  const given = Object.fromEntries(
    known.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  const parsed = environmentSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new LongreinError('CONFIG_INVALID', `the environment is not valid: ${lines.join('; ')}`, {
    fix: 'set the named variables to values in their bounds, or unset them',
  });
}

function readStack(stateDir: string): z.infer<typeof stackSchema> {
  const path = join(stateDir, 'stack.json');
  if (!existsSync(path)) return {};
  try {
    return stackSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (thrown) {
    throw new LongreinError(
      'STACK_FILE_INVALID',
      `${path} cannot be read: ${toError(thrown).message}`,
      {
        fix: 'run `longrein up`, which writes it anew',
        cause: thrown,
      },
    );
  }
}

const missing = (what: string, variable: string): LongreinError =>
  new LongreinError('CONFIG_MISSING', `no ${what} is known`, {
    fix: `run \`longrein up\` for a local stack, or set ${variable}`,
  });

/** Where the local stack keeps its state: LONGREIN_STATE_DIR, or `.longrein` in the package's root. */
export const stateDirOf = (environment: Environment): string =>
  resolve(environment['LONGREIN_STATE_DIR'] || join(packageRoot, '.longrein'));

/** Where plans, agents and tools are: LONGREIN_CATALOG, or the examples. Throws LongreinError CONFIG_INVALID. */
export const catalogDirsOf = (environment: Environment): readonly string[] =>
  (parse(environment).LONGREIN_CATALOG ?? [join(packageRoot, 'deploy/examples')]).map((one) =>
    resolve(one),
  );

function healthOf(given: z.infer<typeof environmentSchema>): Pick<RuntimeConfig, 'health'> {
  const { LONGREIN_HEALTH_PORT: port, LONGREIN_HEALTH_HOST: host } = given;
  return port === undefined ? {} : { health: { host, port } };
}

/** Reads the settings. Throws LongreinError CONFIG_INVALID, CONFIG_MISSING or STACK_FILE_INVALID. */
export function readRuntimeConfig(environment: Environment = process.env): RuntimeConfig {
  const given = parse(environment);
  const stateDir = stateDirOf(environment);
  const stack = readStack(stateDir);
  const brokers = given.LONGREIN_BROKERS ?? stack.brokers ?? [];
  if (brokers.length === 0)
    throw missing('broker', 'LONGREIN_BROKERS (host:port, comma separated)');
  const registryUrl = given.LONGREIN_REGISTRY_URL ?? stack.registryUrl ?? undefined;
  if (registryUrl === undefined) throw missing('schema registry', 'LONGREIN_REGISTRY_URL');
  return Object.freeze({
    brokers,
    registryUrl,
    clickhouseUrl: given.LONGREIN_CLICKHOUSE_URL ?? stack.clickhouseUrl ?? undefined,
    stateDir,
    blobDir: resolve(given.LONGREIN_BLOB_DIR ?? join(stateDir, 'blobs')),
    masksFile: given.LONGREIN_MASKS_FILE,
    keys: keySettingsOf(environment, stateDir),
    catalogDirs: catalogDirsOf(environment),
    workspaceDir: resolve(given.LONGREIN_WORKSPACE ?? process.cwd()),
    partitions: given.LONGREIN_PARTITIONS,
    replication: given.LONGREIN_REPLICATION,
    fsync: given.LONGREIN_FSYNC === '1',
    sessionTimeoutMs: given.LONGREIN_SESSION_TIMEOUT_MS,
    housekeepingMs: given.LONGREIN_HOUSEKEEPING_MS,
    retentionDays: given.LONGREIN_RETENTION_DAYS,
    logLevel: given.LONGREIN_LOG_LEVEL,
    host: given.LONGREIN_HOST ?? `host-${process.pid}`,
    otlpEndpoint: given.OTEL_EXPORTER_OTLP_ENDPOINT,
    metricExportMs: given.OTEL_METRIC_EXPORT_INTERVAL,
    ...healthOf(given),
    model: given.LONGREIN_MODEL,
    ablate: rulesNamed(given.LONGREIN_ABLATE ?? []),
  });
}
