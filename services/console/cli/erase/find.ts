/** What is to be erased: the sessions that are wanted, their children, and the forks that share their past. */
import type { ClickHouseClient } from '@clickhouse/client';
import type { ContentKeys } from '../../../chassis/content/content-keys.ts';
import { LongreinError } from '../../../chassis/errors.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import { elsewhere } from './elsewhere.ts';
import { isRunning } from './erase.ts';
import { forksInLog, forksInRows, forksOf, hasForks, readByRunning } from './forks.ts';
import { type FoundSession, surveyLogs, type Wanted } from './survey.ts';

/** `running`: those that cannot be erased yet, because a host may have them, or a fork that still reads them, open. */
export type Found = Readonly<{
  ended: readonly FoundSession[];
  running: readonly FoundSession[];
}>;

type Places = Readonly<{
  log: LogPort;
  keys: ContentKeys;
  clickhouse: ClickHouseClient | undefined;
}>;

/**
 * Throws SESSION_UNKNOWN, TENANT_UNKNOWN, SESSION_RUNNING, SESSION_HAS_FORKS, and what the log, the keys and ClickHouse
 * throw. `withForks`: those of one session go too.
 */
export async function findSessions(
  wanted: Wanted,
  places: Places,
  withForks: boolean,
): Promise<Found> {
  const all = await everywhere(wanted, places);
  if (all.length === 0) throw unknown(wanted);
  const known = [
    ...(await forksInLog(places.log)),
    ...(places.clickhouse === undefined ? [] : await forksInRows(places.clickhouse)),
  ];
  if ('tenant' in wanted) {
    const waiting = readByRunning(known, all, isRunning);
    const cannot = (one: FoundSession): boolean => isRunning(one) || waiting.has(one.session);
    return { ended: all.filter((one) => !cannot(one)), running: all.filter(cannot) };
  }
  const forks: FoundSession[] = [];
  for (const session of forksOf(
    known,
    all.map(({ session: one }) => one),
  ))
    forks.push(...(await everywhere({ session }, places)));
  const left = forks.filter((one) => !isErased(one, places.keys));
  if (left.length > 0 && !withForks)
    throw hasForks(
      wanted.session,
      left.map(({ session }) => session),
    );
  const ended = [...all, ...left];
  const running = ended.find(isRunning);
  if (running !== undefined) throw stillRunning(running.session);
  return { ended, running: [] };
}

async function everywhere(wanted: Wanted, places: Places): Promise<readonly FoundSession[]> {
  const surveyed = await surveyLogs(places.log, wanted);
  return [...surveyed.values(), ...(await elsewhere(wanted, { ...places, surveyed }))];
}

const isErased = ({ session, logs }: FoundSession, keys: ContentKeys): boolean =>
  logs.length === 0 ? keys.erasureOf(session) !== undefined : logs.some(({ erased }) => erased);

function unknown(wanted: Wanted): LongreinError {
  if ('tenant' in wanted)
    return new LongreinError('TENANT_UNKNOWN', `there is no session of tenant ${wanted.tenant}`, {
      fix: 'See who has sessions: longrein cost --by tenant',
    });
  const message = `there is no session ${wanted.session} in the log, in ClickHouse or among the keys`;
  return new LongreinError('SESSION_UNKNOWN', message, {
    fix: 'Give its whole id; see `longrein session list`. Nothing was erased.',
  });
}

const stillRunning = (session: string): LongreinError =>
  new LongreinError('SESSION_RUNNING', `${session} has not ended: a host may have it open`, {
    fix: `Let it end, or call it off first: longrein goal cancel ${session}. Nothing was erased.`,
  });
