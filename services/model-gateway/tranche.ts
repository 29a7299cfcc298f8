import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import { type Members, memberOf, sortedEntries, withMember } from '../chassis/effects/member.ts';
import { budgetLogId } from '../chassis/protocol/ids.ts';
import { addressOf, type SessionMeta } from '../chassis/protocol/service-logic.ts';
import { type ModelGatewayState, type Tranche, usualLane } from './state.ts';

/** What a session has borrowed of its tenant's money of a day, and what it says to the budget log. */

/** The limit of a tenant's day, as the file of a host says: a fact. */
export type DayLimit = Readonly<{ limitNanoUsd: number; trancheNanoUsd: number }>;

export const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

type Tranches = Members<Tranche>;

const fresh = { number: 0, lentNanoUsd: 0, spentNanoUsd: 0 };

function requested(tranches: Tranches, seen: SeenEvent<'budget.requested'>): Tranches {
  const { budgetLog, day, number } = seen.data;
  const known = memberOf(tranches, budgetLog);
  const { lentNanoUsd, spentNanoUsd } =
    known === undefined || known.returned === true ? fresh : known;
  const tranche = { day, number, lentNanoUsd, spentNanoUsd, awaits: addressOf(seen) };
  return withMember(tranches, budgetLog, tranche);
}

function granted(tranches: Tranches, { data }: SeenEvent<'budget.granted'>): Tranches {
  const known = memberOf(tranches, data.budgetLog);
  if (known === undefined) return tranches;
  const { awaits: _answered, ...rest } = known;
  const lentNanoUsd = known.lentNanoUsd + data.lentNanoUsd;
  return withMember(tranches, data.budgetLog, { ...rest, lentNanoUsd });
}

function refused(tranches: Tranches, { data }: SeenEvent<'budget.refused'>): Tranches {
  const known = memberOf(tranches, data.budgetLog);
  if (known === undefined) return tranches;
  const { awaits: _answered, ...rest } = known;
  const { leftNanoUsd, limitNanoUsd } = data;
  return withMember(tranches, data.budgetLog, { ...rest, refused: { leftNanoUsd, limitNanoUsd } });
}

/** The request can never reach its log: as if that had nothing. */
function undelivered(tranches: Tranches, seen: SeenEvent<'delivery.refused'>): Tranches {
  const address = addressOf(seen.data);
  const found = sortedEntries(tranches).find(([, { awaits }]) => awaits === address);
  if (found === undefined) return tranches;
  const [budgetLog, { awaits: _gone, ...rest }] = found;
  return withMember(tranches, budgetLog, {
    ...rest,
    refused: { leftNanoUsd: 0, limitNanoUsd: 0 },
  });
}

/** The same object where the event is about none of them. */
export function foldTranches(tranches: Tranches, seen: SeenEvent): Tranches {
  switch (seen.type) {
    case 'budget.requested':
      return requested(tranches, seen);
    case 'budget.granted':
      return granted(tranches, seen);
    case 'budget.refused':
      return refused(tranches, seen);
    case 'budget.returned': {
      const known = memberOf(tranches, seen.data.budgetLog);
      if (known === undefined) return tranches;
      return withMember(tranches, seen.data.budgetLog, { ...known, returned: true });
    }
    case 'delivery.refused':
      return undelivered(tranches, seen);
    default:
      return tranches;
  }
}

/** A new call may ask again: other sessions have given money back, perhaps. */
export function askAgain(tranches: Tranches): Tranches {
  if (!Object.values(tranches).some((one) => one.refused !== undefined)) return tranches;
  const entries = Object.entries(tranches).map(([log, { refused: _no, ...rest }]) => [log, rest]);
  return Object.fromEntries(entries) as Tranches;
}

export function spendFrom(tranches: Tranches, budgetLog: string, nanoUsd: number): Tranches {
  const known = memberOf(tranches, budgetLog);
  if (known === undefined || nanoUsd === 0) return tranches;
  return withMember(tranches, budgetLog, {
    ...known,
    spentNanoUsd: known.spentNanoUsd + nanoUsd,
  });
}

/** What calls lack, in a decision. */
export type Want = Readonly<{ sumNanoUsd: number; leastNanoUsd: number }>;

/** Asks once for all that lacks; nothing while an answer is awaited. */
export function askDrafts(
  state: ModelGatewayState,
  want: Want | undefined,
  at: { limit: DayLimit; nowMs: number; session: SessionMeta },
): Draft[] {
  if (want === undefined) return [];
  const day = dayOf(at.nowMs);
  const budgetLog = budgetLogId(at.session.tenant, day);
  const known = memberOf(state.tranches ?? {}, budgetLog);
  if (known?.awaits !== undefined) return [];
  const { limitNanoUsd, trancheNanoUsd } = at.limit;
  const data = {
    ...{ budgetLog, day, number: (known?.number ?? 0) + 1, lane: state.lane ?? usualLane },
    askNanoUsd: Math.max(trancheNanoUsd, want.sumNanoUsd),
    ...{ leastNanoUsd: want.leastNanoUsd, limitNanoUsd },
  };
  return [event('budget.requested', data)];
}

/** Gives back what nobody will spend any more: at the end, and when another day has begun. */
export function returnDrafts(state: ModelGatewayState, nowMs: number): Draft[] {
  if (state.tranches === undefined) return [];
  const calls = Object.values(state.calls);
  const today = dayOf(nowMs);
  return sortedEntries(state.tranches).flatMap(([budgetLog, tranche]) => {
    const { day, number, lentNanoUsd, spentNanoUsd, awaits, returned } = tranche;
    if (awaits !== undefined || returned === true) return [];
    const held = calls.some((one) => one.budgetLog === budgetLog);
    const isOver = state.ended.session ? calls.length === 0 : day !== today && !held;
    if (!isOver) return [];
    return [event('budget.returned', { budgetLog, number, lentNanoUsd, spentNanoUsd })];
  });
}

/**
 * What goes back where the gateway cannot decide in a session any more. It asks for nothing again, so nothing is held
 * against the end of calls that are still open: each of them may cost all that it holds.
 */
export function returnAfterFailure({ calls, ended, tranches }: ModelGatewayState): Draft[] {
  if (!ended.session) return [];
  return sortedEntries(tranches ?? {}).flatMap(([budgetLog, tranche]) => {
    const { number, lentNanoUsd, awaits, returned } = tranche;
    if (awaits !== undefined || returned === true) return [];
    const open = Object.values(calls).filter((one) => one.budgetLog === budgetLog);
    const heldNanoUsd = open.reduce((sum, one) => sum + (one.heldNanoUsd ?? 0), 0);
    const spentNanoUsd = tranche.spentNanoUsd + heldNanoUsd;
    return [event('budget.returned', { budgetLog, number, lentNanoUsd, spentNanoUsd })];
  });
}
