/**
 * Goals that go to the session which has their key, because a loop there is woken by them. Pure; part of a key log.
 *
 * V1 Only who has the key is sent any, from when it asks until it says that it wants no more or its goal is over.
 * V2 One that came back gets its turn like any other, before those that came later, and is never sent again.
 * V3 Who was sent some hears how many they were once it wants no more, and of each that ended before it got there: so it
 *    knows whom to wait for.
 */

import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import { memberOf, sortedEntries, withMember, withoutMember } from '../chassis/effects/member.ts';
import type { Diversion, KeyLog, Watcher } from './key-log.ts';

const nobody: Diversion = { watchers: {}, sent: {}, lost: {}, returned: [] };

const withDiversion = (log: KeyLog, diversion: Diversion): KeyLog => ({ ...log, diversion });

/** A goal that came back stands before those that came later. */
export function requeued(log: KeyLog, goalLog: string): KeyLog {
  const { diversion = nobody, queue } = log;
  const isBack = (one: string): boolean => diversion.returned.includes(one);
  const back = queue.filter(isBack);
  const others = queue.filter((one) => !isBack(one));
  const next = { ...log, queue: [...back, goalLog, ...others] };
  const sent = withoutMember(diversion.sent, goalLog);
  return withDiversion(next, { ...diversion, sent, returned: [...diversion.returned, goalLog] });
}

function watched(log: KeyLog, { data }: SeenEvent<'key.watched' | 'key.unwatched'>): KeyLog {
  const { diversion = nobody } = log;
  const { session, lane } = data;
  const known = memberOf(diversion.watchers, session) ?? { goalLog: '', lane, diverted: 0 };
  const watcher: Watcher =
    'goalLog' in data
      ? { ...known, goalLog: data.goalLog, phase: 'open' }
      : { ...known, phase: 'closing' };
  const watchers = withMember(diversion.watchers, session, watcher);
  return withDiversion(log, { ...diversion, watchers });
}

/** One that has ended meanwhile does not count: it was read after this was decided, and takes no notice. */
function diverted(log: KeyLog, { data }: SeenEvent<'key.diverted'>): KeyLog {
  const { diversion = nobody, queue } = log;
  const { goalLog, session, lane } = data;
  const watcher = memberOf(diversion.watchers, session);
  if (!queue.includes(goalLog) || watcher === undefined) return log;
  const counted = { ...watcher, diverted: watcher.diverted + 1 };
  const watchers = withMember(diversion.watchers, session, counted);
  const sent = withMember(diversion.sent, goalLog, { session, lane });
  const rest = { ...log, queue: queue.filter((one) => one !== goalLog) };
  return withDiversion(rest, { ...diversion, watchers, sent });
}

/** A goal is over: whoever waits for it hears so, unless it got there. */
function released(log: KeyLog, { data }: SeenEvent<'key.released'>): KeyLog {
  const { diversion } = log;
  if (diversion === undefined) return log;
  const { goalLog, woke } = data;
  const sent = memberOf(diversion.sent, goalLog);
  const returned = diversion.returned.filter((one) => one !== goalLog);
  if (sent === undefined) return withDiversion(log, { ...diversion, returned });
  const lost = woke === true ? diversion.lost : withMember(diversion.lost, goalLog, sent);
  const rest = withoutMember(diversion.sent, goalLog);
  return withDiversion(log, { ...diversion, returned, lost, sent: rest });
}

/** What the event says of goals that go to who has the key; the same log where it says nothing of them. */
export function foldDiversion(log: KeyLog, seen: SeenEvent): KeyLog {
  const { diversion = nobody } = log;
  switch (seen.type) {
    case 'key.watched':
    case 'key.unwatched':
      return watched(log, seen);
    case 'key.diverted':
      return diverted(log, seen);
    case 'key.released':
      return released(log, seen);
    case 'key.diversions-counted': {
      const watchers = withoutMember(diversion.watchers, seen.data.session);
      return watchers === diversion.watchers ? log : withDiversion(log, { ...diversion, watchers });
    }
    case 'key.diversion-withdrawn': {
      const lost = withoutMember(diversion.lost, seen.data.goalLog);
      return lost === diversion.lost ? log : withDiversion(log, { ...diversion, lost });
    }
    default:
      return log;
  }
}

/** What is due: goals of the line that go to who has the key, and what sessions have to know of theirs. */
export function decideDiversion(
  { diversion, holder, released: over }: KeyLog,
  queue: readonly string[],
): Draft[] {
  if (diversion === undefined) return [];
  const { watchers, lost, returned } = diversion;
  const has = holder !== null && !over.includes(holder) ? holder : undefined;
  const taking = sortedEntries(watchers).find(
    ([, { goalLog, phase }]) => phase === 'open' && goalLog === has,
  );
  const going = taking === undefined ? [] : queue.filter((one) => !returned.includes(one));
  const [session = '', { lane = '' } = {}] = taking ?? [];
  return [
    ...going.map((goalLog) => event('key.diverted', { goalLog, session, lane })),
    ...sortedEntries(lost).map(([goalLog, to]) =>
      event('key.diversion-withdrawn', { goalLog, ...to }),
    ),
    ...sortedEntries(watchers).flatMap(([to, watcher]) =>
      watcher.phase === 'closing'
        ? [
            event('key.diversions-counted', {
              ...{ session: to, lane: watcher.lane, diverted: watcher.diverted },
            }),
          ]
        : [],
    ),
  ];
}
