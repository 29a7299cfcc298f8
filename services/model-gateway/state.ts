/**
 * What the model gateway knows of one session: conversations, open calls, money. Folded, never
 * decided here.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import {
  type EndedWork,
  endedBecause,
  foldEnded,
  nothingEnded,
} from '../chassis/effects/ended-work.ts';
import { type Members, memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { abandonedNanoUsd, type Quote, settledNanoUsd } from './budget.ts';
import { answer, ask, type Conversation, emptyConversation } from './conversation.ts';

/**
 * A model call without an outcome. `claims` counts claims; `claim` is the address of the newest.
 */
export type ModelCallEntry = Readonly<{
  agent: string;
  task: string;
  taskAttempt: number;
  model: string;
  tools: readonly string[];
  outputTokensMax: number;
  timeoutMs: number;
  claims: number;
  claim: string;
  cancelled: boolean;
  /** Of the session's budget, for all claims of this call. */
  heldNanoUsd?: number;
  /** What the newest claim holds, and why. */
  quote?: Quote;
}>;

/** `budgetNanoUsd` is null where the goal set none; `spentNanoUsd` sums what outcomes cost, and
 * what claims that were lost may have cost. */
export type ModelGatewayState = Readonly<{
  ended: EndedWork;
  budgetNanoUsd: number | null;
  spentNanoUsd: number;
  tools: Members<ToolDefinition>;
  conversations: Members<Conversation>;
  calls: Members<ModelCallEntry>;
}>;

export const initialState: ModelGatewayState = {
  ended: nothingEnded,
  budgetNanoUsd: null,
  spentNanoUsd: 0,
  tools: {},
  conversations: {},
  calls: {},
};

function request(state: ModelGatewayState, seen: SeenEvent<'model.requested'>): ModelGatewayState {
  const { call, agent, task, attempt, model, tools, outputTokensMax, timeoutMs } = seen.data;
  if (endedBecause(state.ended, task, attempt) !== undefined) return state;
  const limits = { outputTokensMax, timeoutMs, claims: 0, claim: '', cancelled: false };
  const entry: ModelCallEntry = { agent, task, taskAttempt: attempt, model, tools, ...limits };
  const known = memberOf(state.conversations, agent) ?? emptyConversation;
  return {
    ...state,
    conversations: withMember(state.conversations, agent, ask(known, seen)),
    calls: withMember(state.calls, call, entry),
  };
}

/** A claim for a call that is gone: it was on its way when the call ended, and has to end too. */
const strayEntry = (model: string): ModelCallEntry => ({
  agent: '',
  task: '',
  taskAttempt: 0,
  model,
  tools: [],
  outputTokensMax: 0,
  timeoutMs: 0,
  claims: 0,
  claim: '',
  cancelled: true,
});

function claim(state: ModelGatewayState, seen: SeenEvent<'model.claimed'>): ModelGatewayState {
  const { call, model, attempt } = seen.data;
  const entry = memberOf(state.calls, call) ?? strayEntry(model);
  const claimed = { ...entry, claims: attempt, claim: addressOf(seen) };
  return { ...state, calls: withMember(state.calls, call, claimed) };
}

function reserve(state: ModelGatewayState, seen: SeenEvent<'budget.reserved'>): ModelGatewayState {
  const { call, reservedNanoUsd: costNanoUsd, inputTokensMost, priceVersion } = seen.data;
  const entry = memberOf(state.calls, call);
  if (entry === undefined) return state;
  const heldNanoUsd = (entry.heldNanoUsd ?? 0) + costNanoUsd;
  const quote = { inputTokensMost, costNanoUsd, known: true, priceVersion };
  const held = { ...entry, heldNanoUsd, quote };
  return { ...state, calls: withMember(state.calls, call, held) };
}

function settle(
  state: ModelGatewayState,
  seen: SeenEvent<'model.completed' | 'model.failed'>,
): ModelGatewayState {
  const { call, costNanoUsd } = seen.data;
  const entry = memberOf(state.calls, call);
  const addedNanoUsd = entry === undefined ? costNanoUsd : settledNanoUsd(entry, costNanoUsd);
  const spent = { ...state, spentNanoUsd: state.spentNanoUsd + addedNanoUsd };
  if (entry === undefined) return costNanoUsd === 0 ? state : spent;
  const settled = { ...spent, calls: withoutMember(state.calls, call) };
  const known = memberOf(state.conversations, entry.agent);
  if (seen.type === 'model.failed' || known === undefined) return settled;
  const conversations = withMember(state.conversations, entry.agent, answer(known, seen));
  return { ...settled, conversations };
}

/** Calls that nobody claimed are forgotten; the others are marked and wait for their end. */
function cancel(
  state: ModelGatewayState,
  isMeant: (entry: ModelCallEntry) => boolean,
): ModelGatewayState {
  let { calls } = state;
  for (const [call, entry] of Object.entries(calls)) {
    if (entry.cancelled || !isMeant(entry)) continue;
    calls =
      entry.claims === 0
        ? withoutMember(calls, call)
        : withMember(calls, call, { ...entry, cancelled: true });
  }
  return calls === state.calls ? state : { ...state, calls };
}

function dropAgent(state: ModelGatewayState, agent: string): ModelGatewayState {
  const conversations = withoutMember(state.conversations, agent);
  const rest = conversations === state.conversations ? state : { ...state, conversations };
  return cancel(rest, (entry) => entry.agent === agent);
}

function foldEnding(state: ModelGatewayState, seen: SeenEvent): ModelGatewayState {
  const ended = foldEnded(state.ended, seen);
  if (ended === state.ended) return state;
  return cancel(
    { ...state, ended },
    (entry) => endedBecause(ended, entry.task, entry.taskAttempt) !== undefined,
  );
}

/** The same object when the event changes nothing. */
export function evolve(state: ModelGatewayState, seen: SeenEvent): ModelGatewayState {
  switch (seen.type) {
    case 'session.opened': {
      const budgetNanoUsd = seen.data.budgetNanoUsd ?? null;
      return budgetNanoUsd === state.budgetNanoUsd ? state : { ...state, budgetNanoUsd };
    }
    case 'plan.accepted': {
      const catalog = bodyOf(seen.content.catalog) as unknown as PinnedCatalog;
      return { ...state, tools: catalog.tools };
    }
    case 'model.requested':
      return request(state, seen);
    case 'model.claimed':
      return claim(state, seen);
    case 'budget.reserved':
      return reserve(state, seen);
    case 'model.completed':
    case 'model.failed':
      return settle(state, seen);
    case 'model.denied': {
      const calls = withoutMember(state.calls, seen.data.call);
      const spentNanoUsd = state.spentNanoUsd + abandonedNanoUsd(state, seen.data.call);
      return calls === state.calls ? state : { ...state, calls, spentNanoUsd };
    }
    case 'agent.cancelled':
      return cancel(state, (entry) => entry.agent === seen.data.agent);
    case 'agent.cleaned-up':
      return dropAgent(state, seen.data.agent);
    default:
      return foldEnding(state, seen);
  }
}
