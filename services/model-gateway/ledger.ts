/**
 * A budget log (DESIGN 7): what one tenant may spend in one day, lent to sessions in tranches.
 *
 * L1 What is lent and what was spent is never above the limit; what a session does not spend comes
 *    back when it ends.
 * L2 Requests are met in their order. One that cannot be met waits while a session that does not
 *    itself wait holds money that may come back; else the newest request is refused, until one is
 *    left that can wait or be met. So nobody waits for ever, and no two wait for each other.
 * L3 The log closes when its day is long over.
 */

import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import { budgetsTopic, sessionTopic } from '../../schemas/topics.ts';
import {
  type Members,
  memberOf,
  sortedEntries,
  withMember,
  withoutMember,
} from '../chassis/effects/member.ts';
import type { Delivery } from '../chassis/protocol/service-logic.ts';

type Waiting = Readonly<{
  session: string;
  lane: string;
  number: number;
  askNanoUsd: number;
  leastNanoUsd: number;
}>;

export type Ledger = Readonly<{
  /** As the newest request says: the file may have changed since the first. */
  limitNanoUsd: number;
  day: string;
  /** By sessions that gave back what was left. */
  spentNanoUsd: number;
  /** Session -> what it has borrowed. */
  lent: Members<number>;
  /** Oldest first. */
  queue: readonly Waiting[];
  /** A timer says when the log is closed. */
  timed: boolean;
  over: boolean;
}>;

const dayMs = 86_400_000;
/** Sessions that began on that day may live on, and lost claims are made again from its money. */
const closesAfterMs = 7 * dayMs;
export const closingTimer = 'budget-log-over';

const lentNanoUsd = ({ lent }: Ledger): number =>
  Object.values(lent).reduce((sum, one) => sum + one, 0);

export const leftNanoUsd = (ledger: Ledger): number =>
  Math.max(0, ledger.limitNanoUsd - ledger.spentNanoUsd - lentNanoUsd(ledger));

function open({ data }: SeenEvent<'tranche.requested'>): Ledger {
  const { limitNanoUsd, day } = data;
  const empty = { spentNanoUsd: 0, lent: {}, queue: [], timed: false, over: false };
  return { limitNanoUsd, day, ...empty };
}

function enqueue(ledger: Ledger, { data }: SeenEvent<'tranche.requested'>): Ledger {
  const { session, lane, number, askNanoUsd, leastNanoUsd, limitNanoUsd } = data;
  const asked = { session, lane, number, askNanoUsd, leastNanoUsd };
  return { ...ledger, limitNanoUsd, queue: [...ledger.queue, asked] };
}

const answered = (ledger: Ledger, session: string, number: number): Ledger => ({
  ...ledger,
  queue: ledger.queue.filter((one) => one.session !== session || one.number !== number),
});

function takeBack(ledger: Ledger, { data }: SeenEvent<'tranche.returned'>): Ledger {
  const { session, spentNanoUsd } = data;
  const lent = withoutMember(ledger.lent, session);
  return { ...ledger, lent, spentNanoUsd: ledger.spentNanoUsd + spentNanoUsd };
}

/** The ledger after this event; undefined while the log is none. */
export function foldLedger(before: Ledger | undefined, seen: SeenEvent): Ledger | undefined {
  if (seen.type === 'tranche.requested') return enqueue(before ?? open(seen), seen);
  if (before === undefined) return undefined;
  switch (seen.type) {
    case 'tranche.lent': {
      const { session, number, lentNanoUsd: lent } = seen.data;
      const sum = (memberOf(before.lent, session) ?? 0) + lent;
      return { ...answered(before, session, number), lent: withMember(before.lent, session, sum) };
    }
    case 'tranche.refused':
      return answered(before, seen.data.session, seen.data.number);
    case 'tranche.returned':
      return takeBack(before, seen);
    case 'timer.set':
      return seen.data.timer === closingTimer ? { ...before, timed: true } : before;
    case 'timer.fired':
      return seen.data.timer === closingTimer ? { ...before, over: true } : before;
    default:
      return before;
  }
}

/** Whether money may come back to the log from a session that does not wait for it. */
function mayGrow({ lent, queue }: Ledger): boolean {
  const waiting = new Set(queue.map(({ session }) => session));
  return sortedEntries(lent).some(([session, nanoUsd]) => nanoUsd > 0 && !waiting.has(session));
}

function lend(ledger: Ledger, asked: Waiting): Draft<'tranche.lent'> {
  const { session, lane, number, askNanoUsd } = asked;
  const left = leftNanoUsd(ledger);
  const lent = Math.min(askNanoUsd, left);
  const data = { session, lane, number, lentNanoUsd: lent, leftNanoUsd: left - lent };
  return event('tranche.lent', data) as Draft<'tranche.lent'>;
}

function refuse(ledger: Ledger, { session, lane, number }: Waiting): Draft<'tranche.refused'> {
  const { limitNanoUsd } = ledger;
  const data = { session, lane, number, leftNanoUsd: leftNanoUsd(ledger), limitNanoUsd };
  return event('tranche.refused', data) as Draft<'tranche.refused'>;
}

/** What the ledger is after its own draft. */
function after(ledger: Ledger, draft: Draft<'tranche.lent' | 'tranche.refused'>): Ledger {
  return foldLedger(ledger, draft as unknown as SeenEvent) ?? ledger;
}

export function decideLedger(before: Ledger): Draft[] {
  if (before.over) return [event('session.closed', {})];
  const drafts: Draft[] = [];
  let ledger = before;
  for (;;) {
    const [first] = ledger.queue;
    const newest = ledger.queue.at(-1);
    if (first === undefined || newest === undefined) break;
    const fits = first.leastNanoUsd <= leftNanoUsd(ledger);
    if (!fits && mayGrow(ledger)) break;
    const draft = fits ? lend(ledger, first) : refuse(ledger, newest);
    drafts.push(draft);
    ledger = after(ledger, draft);
  }
  if (before.timed) return drafts;
  const dueAtMs = Date.parse(`${before.day}T00:00:00Z`) + dayMs + closesAfterMs;
  return [...drafts, event('timer.set', { timer: closingTimer, dueAtMs })];
}

/** Answers go to the session that asked. */
export function ledgerDeliveries(seen: SeenEvent, budgetLog: string): Delivery[] {
  if (seen.type !== 'tranche.lent' && seen.type !== 'tranche.refused') return [];
  const { session, lane, number } = seen.data;
  const to = { to: 'log', topic: sessionTopic(lane), session } as const;
  const identity = ['budget', budgetLog, String(number)];
  if (seen.type === 'tranche.lent') {
    const { lentNanoUsd: lent } = seen.data;
    const granted = event('budget.granted', { budgetLog, number, lentNanoUsd: lent });
    return [{ ...to, identity, event: granted }];
  }
  const { leftNanoUsd: left, limitNanoUsd } = seen.data;
  const data = { budgetLog, number, leftNanoUsd: left, limitNanoUsd };
  return [{ ...to, identity, event: event('budget.refused', data) }];
}

/** What a session says to the budget log. */
export function trancheDeliveries(
  seen: SeenEvent,
  { session, tenant }: { session: string; tenant: string },
): Delivery[] {
  if (seen.type !== 'budget.requested' && seen.type !== 'budget.returned') return [];
  const { budgetLog, number } = seen.data;
  const to = { to: 'log', topic: budgetsTopic, session: budgetLog } as const;
  if (seen.type === 'budget.returned') {
    const { lentNanoUsd: lent, spentNanoUsd } = seen.data;
    const data = { session, number, lentNanoUsd: lent, spentNanoUsd };
    const identity = ['returned', session, String(number)];
    return [{ ...to, identity, event: event('tranche.returned', data) }];
  }
  const { budgetLog: _log, ...asked } = seen.data;
  const identity = ['requested', session, String(number)];
  return [{ ...to, identity, event: event('tranche.requested', { session, tenant, ...asked }) }];
}
