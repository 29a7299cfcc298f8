/**
 * Money that child sessions may spend of the budget of their parent (DESIGN 7): put aside before they begin, so that what
 * all of them and the parent spend is never above it. What a child does not spend comes back when it ends: its own gateway
 * says so, which alone knows what calls may have cost whose outcome nobody saw (B3). One that cannot has spent all of it.
 */

import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import { type Members, memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import type { Purse } from './purse.ts';
import type { ChildPurse, ModelGatewayState } from './state.ts';

type ChildEvent = SeenEvent<
  | 'child.requested'
  | 'budget.allotted'
  | 'child.opened'
  | 'child.cancelled'
  | 'child.ended'
  | 'delivery.refused'
>;

/** The same object where the event says nothing of money of a child. */
export function evolveChildren(state: ModelGatewayState, seen: ChildEvent): ModelGatewayState {
  const { children = {} } = state;
  const next = foldChildren(children, seen);
  return next === children ? state : { ...state, children: next };
}

function foldChildren(children: Members<ChildPurse>, seen: ChildEvent): Members<ChildPurse> {
  switch (seen.type) {
    case 'child.requested': {
      const { child, task, ordinal, sharers } = seen.data;
      if (memberOf(children, child) !== undefined) return children;
      return withMember(children, child, { task, ordinal, sharers });
    }
    case 'budget.allotted': {
      const known = memberOf(children, seen.data.child);
      if (known === undefined || known.heldNanoUsd !== undefined) return children;
      const heldNanoUsd = seen.data.allottedNanoUsd;
      return withMember(children, seen.data.child, { ...known, heldNanoUsd });
    }
    case 'child.opened': {
      const known = memberOf(children, seen.data.child);
      if (known === undefined) return children;
      return withMember(children, seen.data.child, { ...known, address: addressOf(seen) });
    }
    case 'child.cancelled':
      return seen.data.opened ? children : withoutMember(children, seen.data.child);
    case 'child.ended':
      return withoutMember(children, seen.data.child);
    case 'delivery.refused': {
      const address = addressOf(seen.data);
      const found = Object.entries(children).find(([, one]) => one.address === address);
      return found === undefined ? children : withoutMember(children, found[0]);
    }
  }
}

const inOrder = (one: ChildPurse, other: ChildPurse): number =>
  one.task === other.task ? one.ordinal - other.ordinal : one.task < other.task ? -1 : 1;

/** What is left, in equal shares for all that were asked for and will be; nothing once the session is over. */
export function allotments(state: ModelGatewayState, purse: Purse): Draft[] {
  if (state.ended.session) return [];
  const waiting = Object.entries(state.children ?? {})
    .filter(([, { heldNanoUsd }]) => heldNanoUsd === undefined)
    .sort(([, one], [, other]) => inOrder(one, other));
  const sharers = new Map<string, number>();
  for (const [, one] of waiting)
    sharers.set(one.task, Math.max(sharers.get(one.task) ?? 1, one.sharers));
  return waiting.map(([child, { task }]) => {
    const ofTask = sharers.get(task) ?? 1;
    const all = [...sharers.values()].reduce((sum, one) => sum + one, 0);
    const { leftNanoUsd, allottedNanoUsd } = purse.shareOf(task, { all, ofTask });
    sharers.set(task, ofTask - 1);
    purse.takeForChild(task, allottedNanoUsd);
    return event('budget.allotted', {
      ...{ child, allottedNanoUsd, leftNanoUsd: leftNanoUsd - allottedNanoUsd },
    });
  });
}

/** Says once what was spent, when nothing more will be; only in a child session that has a share. */
export function settlement(state: ModelGatewayState): Draft[] {
  const { share, ended, calls, spentNanoUsd, children = {} } = state;
  if (share === undefined || share.settled === true || !ended.session) return [];
  if (Object.keys(calls).length > 0 || Object.keys(children).length > 0) return [];
  return [event('budget.settled', { spentNanoUsd })];
}
