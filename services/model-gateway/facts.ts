import type { Draft } from '../../schemas/event.ts';
import { memberOf, sortedEntries } from '../chassis/effects/member.ts';
import { beginProposal } from '../chassis/protocol/proposal.ts';
import type { DecideInput } from '../chassis/protocol/service-logic.ts';
import { allotments, settlement } from './children.ts';
import { answerCall, type Case } from './claims.ts';
import { evolve } from './evolve.ts';
import type { ModelGatewayFacts } from './gateway-facts.ts';
import { Purse } from './purse.ts';
import { candidatesOf, isRouted, type Standings } from './route.ts';
import { setAsides } from './set-aside.ts';
import type { ModelCallEntry, ModelGatewayState } from './state.ts';
import { askDrafts, returnDrafts } from './tranche.ts';

/**
 * What the gateway's decisions take from outside the log: which providers there are, what a call may
 * cost, and how many calls of a model may go out now.
 */

/** By call where it names one model, as always; by call and model where there is a choice. */
export const quoteKey = (call: string, model: string, routed: boolean): string =>
  routed ? `${call} ${model}` : call;

function standingsOf(
  state: ModelGatewayState,
  { call, entry, facts }: { call: string; entry: ModelCallEntry; facts: ModelGatewayFacts },
  used: ReadonlyMap<string, number>,
): Standings {
  const routed = isRouted(state, entry);
  const standings = candidatesOf(state, entry).map((model) => {
    // A claim that was lost is made again for the same request.
    const kept = (entry.chosen ?? entry.model) === model ? entry.quote : undefined;
    const quote = kept ?? memberOf(facts.quotes ?? {}, quoteKey(call, model, routed));
    const room = memberOf(facts.room ?? {}, model);
    const isFull = room !== undefined && (used.get(model) ?? 0) >= room.calls;
    const until = room?.untilMs === undefined ? {} : { untilMs: room.untilMs };
    const standing = isFull ? { not: room.not, ...until } : {};
    return [model, { ...(quote === undefined ? {} : { quote }), ...standing }] as const;
  });
  return Object.fromEntries(standings);
}

/** The claims among drafts: calls that take up room. */
export function claimedIn(drafts: readonly Draft[]): readonly { call: string; model: string }[] {
  const claimed: { call: string; model: string }[] = [];
  for (const draft of drafts) if (draft.type === 'model.claimed') claimed.push(draft.data);
  return claimed;
}

/** All that is due, call by call, in one order for everybody. */
export function answerAll(
  state: ModelGatewayState,
  input: DecideInput<ModelGatewayFacts>,
): Draft[] {
  const { nowMs, facts, session } = input;
  const { dayBudget: limit } = facts;
  const { tenant } = session;
  const purse = new Purse(state, limit === undefined ? undefined : { limit, tenant, nowMs });
  const used = new Map<string, number>();
  const answers: Draft[] = [];
  for (const [call, entry] of sortedEntries(state.calls)) {
    const standings = standingsOf(state, { call, entry, facts }, used);
    const at: Case = { ...{ call, entry, state, purse, nowMs, standings }, ...facts };
    const drafts = answerCall(input, at);
    for (const { model } of claimedIn(drafts)) used.set(model, (used.get(model) ?? 0) + 1);
    answers.push(...drafts);
  }
  const allotted = [...setAsides(state, purse), ...allotments(state, purse)];
  const asked = limit === undefined ? [] : askDrafts(state, purse.want, { limit, nowMs, session });
  const after = withoutDenied(state, answers);
  return [...answers, ...allotted, ...asked, ...returnDrafts(after, nowMs), ...settlement(after)];
}

/** Own events are no causes: what follows from a denial is due in the same turn. */
function withoutDenied(state: ModelGatewayState, drafts: readonly Draft[]): ModelGatewayState {
  if (state.tranches === undefined && state.share === undefined) return state;
  const proposal = beginProposal(state, evolve);
  for (const draft of drafts) if (draft.type === 'model.denied') proposal.write(draft);
  return proposal.state;
}
