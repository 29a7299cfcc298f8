/**
 * What the model gateway knows of one session: conversations, open calls, money. Folded, never
 * decided here.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { bodyOf, type DataOf, type SeenEvent } from '../../schemas/event.ts';
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
  requestedAtMs?: number;
  /** The model of the newest claim. */
  chosen?: string;
  /** Tries of this call that failed, oldest first. */
  tried?: readonly Tried[];
  /** Until when it waits, if nothing comes before. */
  waitsUntilMs?: number;
}>;

/** A try that failed; `address` is that of the event that said so, for the jitter of the next. */
export type Tried = Readonly<{
  model: string;
  code: string;
  class: DataOf<'model.attempt-failed'>['class'];
  retryable: boolean;
  retryAfterMs: number;
  atMs: number;
  address: string;
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
  /** Names that stand for several models, as the accepted plan pins them. */
  routes?: Members<readonly string[]>;
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
  const asked = { agent, task, taskAttempt: attempt, model, tools };
  const entry: ModelCallEntry = { ...asked, ...limits, requestedAtMs: seen.atMs };
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
  const claimed = { ...entry, claims: attempt, claim: addressOf(seen), chosen: model };
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
  const addedNanoUsd = entry === undefined ? costNanoUsd : settledNanoUsd(entry, costOf(seen));
  const spent = { ...state, spentNanoUsd: state.spentNanoUsd + addedNanoUsd };
  if (entry === undefined) return costNanoUsd === 0 ? state : spent;
  const settled = { ...spent, calls: withoutMember(state.calls, call) };
  const known = memberOf(state.conversations, entry.agent);
  if (seen.type === 'model.failed' || known === undefined) return settled;
  const conversations = withMember(state.conversations, entry.agent, answer(known, seen));
  return { ...settled, conversations };
}

type Ended = SeenEvent<'model.completed' | 'model.failed' | 'model.attempt-failed'>;

/** A failure may have been paid for, and nobody knows how much; an answer says its estimate. */
const costOf = ({ type, data }: Ended) => ({
  costNanoUsd: data.costNanoUsd,
  known: type === 'model.completed' || data.costKnown,
});

/** A try failed: its money is settled, and the call waits for its next one. */
function failTry(
  state: ModelGatewayState,
  seen: SeenEvent<'model.attempt-failed'>,
): ModelGatewayState {
  const entry = memberOf(state.calls, seen.data.call);
  const spent = entry === undefined ? seen.data.costNanoUsd : settledNanoUsd(entry, costOf(seen));
  const paid = { ...state, spentNanoUsd: state.spentNanoUsd + spent };
  if (entry === undefined) return spent === 0 ? state : paid;
  // It was cancelled while this try ran: there is nothing more to be asked.
  if (entry.cancelled) return { ...paid, calls: withoutMember(state.calls, seen.data.call) };
  const { model, code, class: kind, retryable, retryAfterMs = 0 } = seen.data;
  const failure = { model, code, class: kind, retryable, retryAfterMs };
  const tried = [...(entry.tried ?? []), { ...failure, atMs: seen.atMs, address: addressOf(seen) }];
  const { heldNanoUsd: _held, quote: _quote, chosen: _chosen, ...rest } = entry;
  const next: ModelCallEntry = { ...rest, claims: 0, claim: '', tried };
  return { ...paid, calls: withMember(state.calls, seen.data.call, next) };
}

/** The call that a timer of this service is for; undefined for timers of others. */
export const callOfTimer = (timer: string): string | undefined =>
  timer.startsWith('model/') ? timer.slice('model/'.length) : undefined;

export const timerOfCall = (call: string): string => `model/${call}`;

type TimerEvent = SeenEvent<'timer.set' | 'timer.cancelled' | 'timer.fired'>;

function wait(state: ModelGatewayState, seen: TimerEvent): ModelGatewayState {
  const call = callOfTimer(seen.data.timer);
  const entry = call === undefined ? undefined : memberOf(state.calls, call);
  if (call === undefined || entry === undefined) return state;
  const { waitsUntilMs: _until, ...rest } = entry;
  const next = seen.type === 'timer.set' ? { ...rest, waitsUntilMs: seen.data.dueAtMs } : rest;
  return { ...state, calls: withMember(state.calls, call, next) };
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

/** Undefined where no name stands for several models: states of before have none. */
function routesOf({ models }: PinnedCatalog): ModelGatewayState['routes'] {
  const lists = Object.entries(models).filter((one) => typeof one[1] !== 'string');
  return lists.length === 0 ? undefined : (Object.fromEntries(lists) as Members<readonly string[]>);
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
      const routes = routesOf(catalog);
      return { ...state, tools: catalog.tools, ...(routes === undefined ? {} : { routes }) };
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
    case 'model.attempt-failed':
      return failTry(state, seen);
    case 'timer.set':
    case 'timer.cancelled':
    case 'timer.fired':
      return wait(state, seen);
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
