/** What commands read from the environment: the only place in this folder that sees it. */

import { join, resolve } from 'node:path';
import { type LocalSettings, readSettings } from '../../../deploy/local/config.ts';
import { withoutCredentials } from '../../../deploy/local/probes.ts';
import { readStack } from '../../../deploy/local/stack-file.ts';
import type { SessionSource } from '../../../replay-tools/read/source.ts';
import { packageRoot } from '../../chassis/config/package-root.ts';
import type { ContentKeys, ContentSeal } from '../../chassis/content/content-keys.ts';
import { keySettingsOf, openContentKeys } from '../../chassis/content/open-keys.ts';
import { LongreinError } from '../../chassis/errors.ts';
import type { Environment } from './terminal.ts';

export const processEnvironment: Environment = process.env;

const setting = (environment: Environment, name: string): string | undefined =>
  environment[name]?.trim() || undefined;

/** Settings of the local stack, in the state directory that hosts use too. */
export function localSettings(environment: Environment): LocalSettings {
  const given = setting(environment, 'LONGREIN_STATE_DIR');
  const stateDir = resolve(given ?? join(packageRoot, '.longrein'));
  return { ...readSettings(environment), stateDir };
}

/** The directory that file tools may read: LONGREIN_WORKSPACE, or this package. */
export const workspaceDirOf = (environment: Environment): string =>
  resolve(setting(environment, 'LONGREIN_WORKSPACE') ?? packageRoot);

/** The environment of hosts that `up` starts. */
export const hostEnvironment = (
  environment: Environment,
  settings: LocalSettings,
): Record<string, string | undefined> => ({
  ...environment,
  LONGREIN_STATE_DIR: settings.stateDir,
  LONGREIN_WORKSPACE: workspaceDirOf(environment),
  // Several hosts of one machine cannot share a port: each takes a free one, and says which.
  LONGREIN_HEALTH_PORT: setting(environment, 'LONGREIN_HEALTH_PORT') ?? 'auto',
});

/** The model that stands in for all of the catalog's, if one is set. */
export const modelOf = (environment: Environment): string | undefined =>
  setting(environment, 'LONGREIN_MODEL');

const hostVariable = /^(LONGREIN_|OTEL_)|_API_KEY$/;

/** The variables that a host behaves by, in a fixed order. Values may be keys: never shown. */
export function hostVariables(
  environment: Record<string, string | undefined>,
): readonly (readonly [string, string])[] {
  return Object.entries(environment)
    .filter((pair): pair is [string, string] => hostVariable.test(pair[0]) && Boolean(pair[1]))
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

export interface LogAddress {
  readonly brokers: readonly string[];
  readonly blobDir: string;
  readonly stateDir: string;
}

/** Where the log is. Throws CONFIG_MISSING. */
export async function readLogAddress(environment: Environment): Promise<LogAddress> {
  const { stateDir, brokers: given } = localSettings(environment);
  const brokers = given ?? (await readStack(stateDir))?.brokers ?? [];
  if (brokers.length === 0) {
    throw new LongreinError('CONFIG_MISSING', 'no broker is known', {
      fix: 'Run `longrein up` for a local stack, or set LONGREIN_BROKERS (host:port, …).',
    });
  }
  return { brokers, blobDir: blobDirOf(environment), stateDir };
}

/** Where hosts of this environment keep blobs, and contexts of sessions that failed. */
export const blobDirOf = (environment: Environment): string =>
  resolve(
    setting(environment, 'LONGREIN_BLOB_DIR') ?? join(localSettings(environment).stateDir, 'blobs'),
  );

/** Keys that contents are sealed with, as the hosts of this environment have them. */
export const contentKeysOf = (environment: Environment): ContentKeys =>
  openContentKeys(keySettingsOf(environment, localSettings(environment).stateDir));

/** The file that says what is masked as personal data; undefined: the usual. */
export function masksFileOf(environment: Environment): string | undefined {
  const given = setting(environment, 'LONGREIN_MASKS_FILE');
  return given === undefined ? undefined : resolve(given);
}

/** What an export of this session is sealed with; undefined where it stands open, or was made anonymous. */
export function exportSealOf(
  environment: Environment,
  { session, fork, anonymised }: Pick<SessionSource, 'session' | 'fork' | 'anonymised'>,
): ContentSeal | undefined {
  if (anonymised === true) return undefined;
  return contentKeysOf(environment).sealOf(fork?.of ?? session);
}

export interface ClickhouseAddress {
  /** Without user and password. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

/**
 * Where ClickHouse is, or undefined if none is known. `analyst` asks for the role that reads tables
 * and nothing else, where the engine is our own.
 */
export async function readClickhouseAddress(
  environment: Environment,
  as: 'owner' | 'analyst' = 'owner',
): Promise<ClickhouseAddress | undefined> {
  const { stateDir, clickhouseUrl: given } = localSettings(environment);
  const url = given ?? (await readStack(stateDir))?.clickhouseUrl ?? undefined;
  if (url === undefined) return undefined;
  const inUrl = URL.canParse(url) ? new URL(url) : { username: '', password: '' };
  const own = given === undefined && as === 'analyst';
  const user = setting(environment, 'LONGREIN_CLICKHOUSE_USER');
  const password = environment['LONGREIN_CLICKHOUSE_PASSWORD'];
  const analystToken = own ? setting(environment, 'LONGREIN_CLICKHOUSE_ANALYST_TOKEN') : undefined;
  return {
    url: withoutCredentials(url).replace(/\/+$/, ''),
    user: user ?? (own ? 'analyst' : decodeURIComponent(inUrl.username) || 'default'),
    password: password || analystToken || decodeURIComponent(inUrl.password),
  };
}
