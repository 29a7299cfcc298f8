/**
 * A pool log: who may begin in one pool that has limits, over all sessions, partitions and hosts.
 *
 * P1 A place is given for one attempt, and comes back when its session says so; the session does not
 *    close before that has arrived here.
 * P2 A place that is not given back long after its attempt must have ended is taken back, so that
 *    what a session lost holds no place for ever. Its session does not begin on a place that old.
 * P3 The log is never closed: there is one for each pool.
 */

import type { PoolLimits } from '../../../schemas/definitions/pool.ts';
import { type DataOf, type Draft, event, type SeenEvent } from '../../../schemas/event.ts';
import { sessionTopic } from '../../../schemas/topics.ts';
import { type Members, memberOf, sortedEntries } from '../../chassis/effects/member.ts';
import { poolLogId } from '../../chassis/protocol/ids.ts';
import { addressOf, type Delivery } from '../../chassis/protocol/service-logic.ts';
import { type Breaker, closedBreaker, decideBreaker, foldBreaker, letsThrough } from './breaker.ts';
import { foldGuests, type Guests, isOfProbe, isWaitingGuest, noGuests, welcome } from './guests.ts';
import {
  enqueue,
  give,
  nextOf,
  nothingShared,
  type Place,
  rankOf,
  type Sharing,
  slotOf,
  takeBack,
  type Wish,
  waitingIn,
} from './share.ts';
import {
  decideTemplates,
  deniedBy,
  foldTemplates,
  noTemplates,
  probeOf,
  probesOf,
  standingOf,
  type Templates,
  tried,
} from './template-breaker.ts';

/** How long after the time of its attempt a place is taken back. */
export const graceMs = 300_000;
export const leaseTimer = 'supervisor/pool';

type Grant = DataOf<'slot.granted'>;

/** `timed`: a timer looks for places that were not given back. */
export type PoolLog = Readonly<{
  pool: string;
  sharing: Sharing;
  timed: boolean;
  /** Absent while nothing has failed. */
  breaker?: Breaker;
  /** Templates with a breaker of which something failed, by digest; absent where there are none. */
  templates?: Templates;
  /** Attempts that work on the place of who waits for them; absent where there are none. */
  guests?: Guests;
}>;

const withSharing = (before: PoolLog, sharing: Sharing): PoolLog =>
  sharing === before.sharing ? before : { ...before, sharing };

function asked(before: PoolLog, { data, atMs }: SeenEvent<'slot.requested'>): PoolLog {
  const { session, lane, tenant, key, tasks } = data;
  let { sharing, guests = noGuests } = before;
  for (const { task, attempt, priority, holdMs, template, placeless } of tasks) {
    const wish = {
      ...{ session, lane, task, attempt, holdMs, rank: rankOf(atMs, priority) },
      ...(key === undefined ? {} : { key }),
      ...(template === undefined ? {} : { template }),
    };
    if (placeless === true) guests = welcome(guests, { ...wish, tenant });
    else sharing = enqueue(sharing, tenant, wish);
  }
  return withGuests(withSharing(before, sharing), guests);
}

function withGuests(before: PoolLog, guests: Guests): PoolLog {
  const { guests: known = noGuests, ...rest } = before;
  if (guests === known) return before;
  const { waiting, working } = guests;
  const isEmpty = waiting.length === 0 && Object.keys(working).length === 0;
  return isEmpty ? rest : { ...rest, guests };
}

function granted(before: PoolLog, data: DataOf<'slot.granted'>): PoolLog {
  const { session, tenant, tasks } = data;
  if (isForGuests(before, data)) return before;
  const sharing = tasks.reduce(
    (sum, task) => give(sum, tenant, { session, ...task }),
    before.sharing,
  );
  return withSharing(before, sharing);
}

/** Guests get an event of their own. */
function isForGuests({ guests = noGuests }: PoolLog, { session, tasks }: Grant): boolean {
  const [first] = tasks;
  return first !== undefined && isWaitingGuest(guests, { ...first, session });
}

/** The pool log after this event; undefined while the log is none. */
export function foldPoolLog(before: PoolLog | undefined, seen: SeenEvent): PoolLog | undefined {
  if (seen.type === 'slot.requested') {
    const { pool } = seen.data;
    return asked(before ?? { pool, sharing: nothingShared, timed: false }, seen);
  }
  if (before === undefined) return undefined;
  const next = foldShares(withTemplates(withBreaker(before, seen), seen), seen);
  return withGuests(next, foldGuests(next.guests ?? noGuests, seen));
}

function withTemplates(before: PoolLog, seen: SeenEvent): PoolLog {
  const { templates: known = noTemplates, ...rest } = before;
  const { sharing, guests = noGuests } = rest;
  const placeOf = (slot: string) => memberOf(sharing.held, slot) ?? memberOf(guests.working, slot);
  const templates = foldTemplates(known, seen, placeOf);
  if (templates === known) return before;
  return Object.keys(templates).length === 0 ? rest : { ...rest, templates };
}

function withBreaker(before: PoolLog, seen: SeenEvent): PoolLog {
  if (seen.type === 'slot.granted' && isForGuests(before, seen.data)) return before;
  const { breaker: known = closedBreaker, ...rest } = before;
  const breaker = foldBreaker(known, seen, (slot) => Object.hasOwn(rest.sharing.held, slot));
  if (breaker === known) return before;
  return breaker === closedBreaker ? rest : { ...rest, breaker };
}

function foldShares(before: PoolLog, seen: SeenEvent): PoolLog {
  switch (seen.type) {
    case 'slot.granted':
      return granted(before, seen.data);
    case 'slot.returned': {
      const { session, tasks } = seen.data;
      const sharing = tasks.reduce(
        (sum, one) => takeBack(sum, { session, ...one }),
        before.sharing,
      );
      return withSharing(before, sharing);
    }
    case 'slot.denied': {
      const { session, tasks } = seen.data;
      const take = (sum: Sharing, one: (typeof tasks)[number]): Sharing =>
        takeBack(sum, { session, task: one.task, attempt: one.attempt });
      return withSharing(before, tasks.reduce(take, before.sharing));
    }
    case 'slot.expired':
      return withSharing(before, takeBack(before.sharing, seen.data));
    case 'timer.set':
      return seen.data.timer === leaseTimer ? { ...before, timed: true } : before;
    case 'timer.fired':
      return seen.data.timer === leaseTimer ? { ...before, timed: false } : before;
    default:
      return before;
  }
}

function expire(log: PoolLog, nowMs: number): Draft<'slot.expired'>[] {
  const { pool } = log;
  return sortedEntries(heldIn(log))
    .filter(([, { untilMs }]) => untilMs <= nowMs)
    .map(([slot, { attempt }]) => {
      const [session = '', task = ''] = slot.split(' ');
      const data = { session, pool, task, attempt };
      return event('slot.expired', data) as Draft<'slot.expired'>;
    });
}

type Denial = DataOf<'slot.denied'>;

/** The places, and those who work on the places of others. */
const heldIn = ({ sharing, guests }: PoolLog): Members<Place> =>
  guests === undefined ? sharing.held : { ...sharing.held, ...guests.working };

/** Gives what is free; places that one session gets in a row are one event. */
function grant(before: PoolLog, limits: PoolLimits, nowMs: number): Grant[] {
  const grants: Grant[] = [];
  let { sharing, templates = noTemplates } = before;
  const may = (wish: Wish): boolean => standingOf(templates, wish, nowMs) !== 'out';
  for (let left = letsThrough(before.breaker ?? closedBreaker, nowMs); ; left -= 1) {
    const next = left > 0 ? nextOf(sharing, limits, may) : undefined;
    if (next === undefined) return grants;
    const { tenant, wish } = next;
    const { session, lane, task, attempt, holdMs } = wish;
    const probe = probeOf(templates, wish, nowMs);
    const place = { task, attempt, untilMs: nowMs + holdMs + graceMs, ...probe };
    templates = tried(templates, probe, slotOf(session, task));
    sharing = give(sharing, tenant, { session, ...place });
    const counts = { held: Object.keys(sharing.held).length, waiting: waitingIn(sharing) };
    const last = grants.at(-1);
    const isMore = last?.session === session && last.tasks.length < 1_000;
    const head = isMore
      ? { ...(grants.pop() as Grant) }
      : { session, lane, tenant, pool: before.pool, tasks: [] };
    grants.push({ ...head, tasks: [...head.tasks, place], ...counts });
  }
}

/** Lets guests begin whose template is not out; each gets an event of its own, for what it says may be a probe. */
function admit(before: PoolLog, nowMs: number): Grant[] {
  const { pool, sharing, guests = noGuests } = before;
  let { templates = noTemplates } = before;
  const counts = { held: Object.keys(sharing.held).length, waiting: waitingIn(sharing) };
  return guests.waiting.flatMap((guest) => {
    const { session, lane, tenant, task, attempt, holdMs } = guest;
    const isOut = standingOf(templates, guest, nowMs) === 'out';
    if (isOut && !isOfProbe(probesOf(templates), guest)) return [];
    const probe = probeOf(templates, guest, nowMs);
    templates = tried(templates, probe, slotOf(session, task));
    const tasks = [{ task, attempt, untilMs: nowMs + holdMs + graceMs, ...probe }];
    return [{ session, lane, tenant, pool, tasks, ...counts }];
  });
}

/** Tells those who do not want to wait for a template that is taken out; one is kept where a probe is due. */
function deny(log: PoolLog, nowMs: number): Denial[] {
  const { pool, sharing, guests = noGuests, templates = noTemplates } = log;
  if (templates === noTemplates) return [];
  const denials: Denial[] = [];
  let left = templates;
  const lines = sortedEntries(sharing.waiting);
  const probes = probesOf(templates);
  const strangers = guests.waiting.filter((guest) => !isOfProbe(probes, guest));
  for (const [tenant, line] of [
    ...lines,
    ...strangers.map((one) => [one.tenant, [one]] as const),
  ]) {
    for (const wish of line) {
      const { session, lane, task, attempt } = wish;
      const probe = probeOf(left, wish, nowMs);
      left = tried(left, probe, slotOf(session, task));
      const because = deniedBy(left, wish, probe);
      if (because === undefined) continue;
      denials.push({ session, lane, tenant, pool, tasks: [{ task, attempt, ...because }] });
    }
  }
  return denials;
}

/** Takes back what is too old, gives what is free, and sees to it that this is looked at again. */
export function decidePoolLog(
  before: PoolLog,
  { nowMs, limits }: { nowMs: number; limits: PoolLimits },
): Draft[] {
  const drafts: Draft[] = [];
  let log = before;
  const take = (draft: Draft): void => {
    drafts.push(draft);
    log = foldPoolLog(log, draft as unknown as SeenEvent) ?? log;
  };
  for (const draft of expire(before, nowMs)) take(draft);
  const at = { pool: before.pool, nowMs, rules: limits.breaker };
  for (const draft of decideBreaker(log.breaker ?? closedBreaker, at)) take(draft);
  for (const draft of decideTemplates(log.templates ?? noTemplates, { pool: log.pool, nowMs }))
    take(draft);
  for (const data of deny(log, nowMs)) take(event('slot.denied', data));
  for (const data of grant(log, limits, nowMs)) take(event('slot.granted', data));
  for (const data of admit(log, nowMs)) take(event('slot.granted', data));
  const ends = Object.values(heldIn(log)).map(({ untilMs }) => untilMs);
  if (log.timed || ends.length === 0) return drafts;
  const dueAtMs = ends.reduce((first, one) => Math.min(first, one));
  return [...drafts, event('timer.set', { timer: leaseTimer, dueAtMs })];
}

/** What a pool log says to the session that asked. */
export function poolLogDeliveries(seen: SeenEvent): Delivery[] {
  if (seen.type !== 'slot.granted' && seen.type !== 'slot.denied') return [];
  const { session, lane, tenant, pool } = seen.data;
  const at = { poolLog: poolLogId(pool), pool };
  const identity = ['permit', addressOf(seen)];
  const topic = sessionTopic(lane);
  const draft =
    seen.type === 'slot.denied'
      ? event('permit.denied', { ...at, tasks: seen.data.tasks })
      : event('permit.granted', { ...at, tasks: seen.data.tasks.map(placeOf) });
  return [{ to: 'log', topic, session, tenant, identity, event: draft }];
}

/** Whether an attempt is a probe is the pool's affair. */
function placeOf({ probe: _probe, ...place }: Grant['tasks'][number]) {
  return place;
}
