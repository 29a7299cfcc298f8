/** Finds a session by what a person wrote, and opens it where it is to be read from. */

import { resolve } from 'node:path';
import type { SessionSource } from '../../../replay-tools/read/source.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { sessionId } from '../../chassis/protocol/ids.ts';
import { queryClickhouse } from './clickhouse-query.ts';
import { contentKeysOf, readClickhouseAddress, readLogAddress } from './config.ts';
import { shortId } from './figures.ts';
import { withLog } from './log-client.ts';
import { asObjects, readRows } from './query-rows.ts';
import type { Environment } from './terminal.ts';

export const sourceNames = ['kafka', 'clickhouse', 'file'] as const;
export type SourceName = (typeof sourceNames)[number];

export interface Wanted {
  readonly environment: Environment;
  readonly workingDir: string;
  /** A session id, the start of one, or a goal id. */
  readonly id: string;
  readonly source: SourceName;
  readonly file?: string;
}

/** Opens the session and closes what was opened for it. */
export async function withSession<T>(
  wanted: Wanted,
  work: (source: SessionSource) => Promise<T>,
): Promise<T> {
  if (wanted.source === 'file') return await work(await fromFile(wanted));
  const session = await sessionOf(wanted.environment, wanted.id);
  if (wanted.source === 'clickhouse') return await fromClickHouse(wanted, session, work);
  const { readFromLog } = await import('../../../replay-tools/read/kafka.ts');
  const { createFixedCodec } = await import('../../chassis/log/codec.ts');
  const stores = await storesOf(wanted.environment);
  return await withLog(wanted.environment, async (log) =>
    // Reading needs no registry: the form of a record follows from its headers.
    work(await readFromLog({ log, codec: createFixedCodec(), ...stores }, session)),
  );
}

async function storesOf(environment: Environment) {
  const { createDirectoryBlobs } = await import('../../chassis/content/blobs.ts');
  const blobs = createDirectoryBlobs((await readLogAddress(environment)).blobDir);
  return { blobs, keys: contentKeysOf(environment) };
}

async function fromFile(wanted: Wanted): Promise<SessionSource> {
  const { readExport } = await import('../../../replay-tools/read/file.ts');
  const path = wanted.file === undefined ? await imported(wanted) : wanted.file;
  const keys = contentKeysOf(wanted.environment);
  const source = await readExport(resolve(wanted.workingDir, path), keys);
  const { id } = wanted;
  const named = id.startsWith('ses_') || id === '' ? id : sessionId('default', '', id);
  if (source.session.startsWith(named) || source.session.startsWith(id)) return source;
  throw new LongreinError('SESSION_OTHER', `${path} holds session ${source.session}`, {
    fix: `Ask for that one: ${shortId(source.session)}`,
  });
}

/** The file of a session that was imported. */
async function imported({ environment, id }: Wanted): Promise<string> {
  const { importedFile } = await import('./imports.ts');
  return await importedFile(environment, id);
}

async function fromClickHouse<T>(
  wanted: Wanted,
  session: string,
  work: (source: SessionSource) => Promise<T>,
): Promise<T> {
  const address = await readClickhouseAddress(wanted.environment);
  if (address === undefined) throw noClickhouse('--source clickhouse needs ClickHouse');
  const { ClickHouseLogLevel, createClient } = await import('@clickhouse/client');
  const { readFromClickHouse } = await import('../../../replay-tools/read/clickhouse.ts');
  const { url, user: username, password } = address;
  const client = createClient({
    url,
    username,
    password,
    clickhouse_settings: { readonly: '2' },
    // What fails is thrown and told once.
    log: { level: ClickHouseLogLevel.OFF },
  });
  try {
    const stores = await storesOf(wanted.environment);
    return await work(
      await readFromClickHouse({ client, ...stores, address: new URL(url).host }, session),
    );
  } finally {
    await client.close();
  }
}

const noClickhouse = (message: string): LongreinError =>
  new LongreinError('CLICKHOUSE_UNKNOWN', message, {
    fix: 'Run `longrein up` (without --no-clickhouse), or set LONGREIN_CLICKHOUSE_URL.',
  });

const whole = /^[a-z]+_[0-9a-f]{32}$|^goal_ses_|^sink_/;

/** The session that an id names. Throws SESSION_AMBIGUOUS, SESSION_UNKNOWN. */
export async function sessionOf(environment: Environment, id: string): Promise<string> {
  if (whole.test(id)) return id;
  const isStart = id.startsWith('ses_');
  const found = await lookUp(environment, id, isStart);
  if (found.length > 1) {
    const some = found.slice(0, 5).join(', ');
    throw new LongreinError('SESSION_AMBIGUOUS', `${id} is the name of several sessions: ${some}`, {
      fix: 'Give more of the id.',
    });
  }
  if (found[0] !== undefined) return found[0];
  // A goal that named no tenant and came without a source has a session that follows from its id.
  if (!isStart) return sessionId('default', '', id);
  throw new LongreinError('SESSION_UNKNOWN', `no stored session begins with ${id}`, {
    fix: 'Give the whole id (`ses_` and 32 digits); see `longrein session list`.',
  });
}

async function lookUp(environment: Environment, id: string, isStart: boolean): Promise<string[]> {
  const where = isStart ? 'startsWith(session_id, {id:String})' : 'goal_id = {id:String}';
  const sql = `SELECT session_id FROM sessions WHERE ${where} LIMIT 6`;
  try {
    const query = { sql, format: 'JSONCompact', parameters: { id } };
    const { text } = await queryClickhouse(environment, query);
    return asObjects(readRows(text)).map((row) => String(row['session_id']));
  } catch (thrown) {
    // Only the short forms of ids need ClickHouse, and who used one is told so.
    if (thrown instanceof LongreinError) return [];
    throw thrown;
  }
}
