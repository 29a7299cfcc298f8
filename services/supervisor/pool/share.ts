/**
 * How the places of a pool are shared out (pure).
 *
 * F1 Nothing is given beyond the limits of the pool, of a tenant, and of a key.
 * F2 No place stays free while somebody waits who may have it.
 * F3 Tenants take turns: whoever had fewer comes first. One that comes back, or new, is at most
 *    `aheadMax` turns ahead of who is served; so a few tasks of one tenant pass many of another, and
 *    nobody waits longer than `aheadMax` + 2 turns of each other tenant.
 * F4 Within a tenant a higher priority comes first, and each step of it is worth `stepMs` of
 *    waiting: what is passed over comes first in the end.
 */

import type { PoolLimits } from '../../../schemas/definitions/pool.ts';
import type { TemplateRules } from '../../chassis/catalog/recovery-policy.ts';
import { type Members, memberOf, withMember, withoutMember } from '../../chassis/effects/member.ts';

/** Turns that a tenant may be ahead of the others. */
export const aheadMax = 16;
/** What one step of priority is worth, in milliseconds of waiting. */
export const stepMs = 10_000;

/** One attempt at one task that wants a place. */
export type Wish = Readonly<{
  session: string;
  lane: string;
  task: string;
  attempt: number;
  key?: string;
  /** Lower comes first. */
  rank: number;
  holdMs: number;
  /** Of the agent that would be at work, where its template has a breaker. */
  template?: TemplateRules;
}>;

export type Place = Readonly<{
  tenant: string;
  key?: string;
  attempt: number;
  untilMs: number;
  template?: TemplateRules;
}>;

export type Sharing = Readonly<{
  /** By `slotOf`. */
  held: Members<Place>;
  /** By tenant, whoever comes first in front. */
  waiting: Members<readonly Wish[]>;
  /** What each tenant has had, in turns. */
  turns: Members<number>;
  /** The turn that is served. */
  turn: number;
}>;

export const nothingShared: Sharing = { held: {}, waiting: {}, turns: {}, turn: 0 };

export const slotOf = (session: string, task: string): string => `${session} ${task}`;

/** Earlier and more urgent is lower. */
export const rankOf = (askedAtMs: number, priority: number): number =>
  askedAtMs - priority * stepMs;

/** The sharing with one more who waits. Who asks for the same attempt again keeps the place in the line. */
export function enqueue(before: Sharing, tenant: string, wish: Wish): Sharing {
  const line = memberOf(before.waiting, tenant) ?? [];
  const isSame = (one: Wish): boolean =>
    one.session === wish.session && one.task === wish.task && one.attempt === wish.attempt;
  if (line.some(isSame)) return before;
  const at = line.findIndex(({ rank }) => rank > wish.rank);
  const longer = at < 0 ? [...line, wish] : line.toSpliced(at, 0, wish);
  const { turns } = known(before, tenant);
  return { ...before, turns, waiting: withMember(before.waiting, tenant, longer) };
}

/** Who comes new is ahead of who is there already; nobody is ahead of nobody. */
function known(before: Sharing, tenant: string): Sharing {
  const { held, waiting, turns, turn } = before;
  if (memberOf(turns, tenant) !== undefined) return before;
  const isAlone = Object.keys(held).length === 0 && Object.keys(waiting).length === 0;
  return { ...before, turns: withMember(turns, tenant, isAlone ? turn : turn - aheadMax) };
}

type Meant = Readonly<{ session: string; task: string; attempt: number }>;

function withoutWish(before: Sharing, tenant: string, meant: Meant): Sharing {
  const line = memberOf(before.waiting, tenant) ?? [];
  const { session, task, attempt } = meant;
  const shorter = line.filter(
    (one) => one.session !== session || one.task !== task || one.attempt !== attempt,
  );
  if (shorter.length === line.length) return before;
  const waiting =
    shorter.length === 0
      ? withoutMember(before.waiting, tenant)
      : withMember(before.waiting, tenant, shorter);
  return { ...before, waiting };
}

/** The turn at which a tenant stands now. */
const standing = ({ turns, turn }: Sharing, tenant: string): number =>
  Math.max(memberOf(turns, tenant) ?? turn - aheadMax, turn - aheadMax);

/** The sharing once this wish of the tenant has a place. */
export function give(before: Sharing, tenant: string, wish: Meant & { untilMs: number }): Sharing {
  const line = memberOf(before.waiting, tenant) ?? [];
  const { session, task, attempt, untilMs } = wish;
  const known = line.find((one) => one.session === session && one.task === task);
  const key = known?.key === undefined ? {} : { key: known.key };
  const template = known?.template === undefined ? {} : { template: known.template };
  const served = standing(before, tenant);
  const rest = withoutWish(before, tenant, wish);
  return {
    ...rest,
    held: withMember(rest.held, slotOf(session, task), {
      ...{ tenant, ...key, ...template, attempt, untilMs },
    }),
    turns: withMember(rest.turns, tenant, served + 1),
    turn: Math.max(rest.turn, served),
  };
}

/** The sharing without this attempt, whether it had a place or waited for one. */
export function takeBack(before: Sharing, meant: Meant): Sharing {
  const slot = slotOf(meant.session, meant.task);
  const held = memberOf(before.held, slot);
  if (held?.attempt === meant.attempt)
    return forgotten({ ...before, held: withoutMember(before.held, slot) });
  for (const tenant of Object.keys(before.waiting)) {
    const rest = withoutWish(before, tenant, meant);
    if (rest !== before) return forgotten(rest);
  }
  return before;
}

/** Turns that make no difference any more are not kept. */
function forgotten(sharing: Sharing): Sharing {
  const { held, waiting, turns, turn } = sharing;
  const holders = new Set(Object.values(held).map(({ tenant }) => tenant));
  if (holders.size === 0 && Object.keys(waiting).length === 0) return nothingShared;
  const kept = Object.entries(turns).filter(
    ([tenant, had]) =>
      had > turn - aheadMax || holders.has(tenant) || Object.hasOwn(waiting, tenant),
  );
  return kept.length === Object.keys(turns).length
    ? sharing
    : { ...sharing, turns: Object.fromEntries(kept) };
}

type Taken = Readonly<{ all: number; tenants: Map<string, number>; keys: Map<string, number> }>;

const keyOf = (tenant: string, key: string): string => JSON.stringify([tenant, key]);

function takenIn({ held }: Sharing): Taken {
  const tenants = new Map<string, number>();
  const keys = new Map<string, number>();
  const places = Object.values(held);
  for (const { tenant, key } of places) {
    tenants.set(tenant, (tenants.get(tenant) ?? 0) + 1);
    if (key === undefined) continue;
    keys.set(keyOf(tenant, key), (keys.get(keyOf(tenant, key)) ?? 0) + 1);
  }
  return { all: places.length, tenants, keys };
}

/** The first of the tenant's line whose key has room. */
function firstOf(
  line: readonly Wish[],
  tenant: string,
  of: { limits: PoolLimits; taken: Taken; may: (wish: Wish) => boolean },
) {
  const { perKeyMax = Infinity } = of.limits;
  const hasRoom = ({ key }: Wish): boolean =>
    key === undefined || (of.taken.keys.get(keyOf(tenant, key)) ?? 0) < perKeyMax;
  return line.find((wish) => hasRoom(wish) && of.may(wish));
}

/** Who gets the next place; undefined where none is free, or nobody may have it. */
export function nextOf(
  sharing: Sharing,
  limits: PoolLimits,
  may: (wish: Wish) => boolean = () => true,
): Readonly<{ tenant: string; wish: Wish }> | undefined {
  const taken = takenIn(sharing);
  const { concurrencyMax = Infinity, perTenantMax = Infinity, tenants = {} } = limits;
  if (taken.all >= concurrencyMax) return undefined;
  const order = Object.keys(sharing.waiting)
    .map((tenant) => ({
      ...{ tenant, at: standing(sharing, tenant), has: taken.tenants.get(tenant) ?? 0 },
      most: memberOf(tenants, tenant) ?? perTenantMax,
    }))
    .filter(({ has, most }) => has < most)
    .sort((one, other) => one.at - other.at || one.has - other.has || byName(one, other));
  for (const { tenant } of order) {
    const line = memberOf(sharing.waiting, tenant) ?? [];
    const wish = firstOf(line, tenant, { limits, taken, may });
    if (wish !== undefined) return { tenant, wish };
  }
  return undefined;
}

const byName = (one: { tenant: string }, other: { tenant: string }): number =>
  one.tenant < other.tenant ? -1 : 1;

/** How many wait. */
export const waitingIn = ({ waiting }: Sharing): number =>
  Object.values(waiting).reduce((sum, line) => sum + line.length, 0);
