/** How events change the calls of a session and its money; evolve.ts says which event does what. */

import type { SeenEvent } from '../../schemas/event.ts';
import { taskOfPlan } from '../chassis/catalog/child-task.ts';
import { endedBecause } from '../chassis/effects/ended-work.ts';
import { memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { changedAsides } from './asides.ts';
import { settledNanoUsd } from './budget.ts';
import { embeddingOf, heard, summaryOf, talk } from './conversations.ts';
import { callOfTimer, type ModelCallEntry, type ModelGatewayState } from './state.ts';
import { askAgain, spendFrom } from './tranche.ts';

export function request(
  state: ModelGatewayState,
  seen: SeenEvent<'model.requested'>,
): ModelGatewayState {
  const { call, agent, task, attempt, model, tools, outputTokensMax, timeoutMs } = seen.data;
  if (endedBecause(state.ended, task, attempt) !== undefined) return state;
  const nothing = { claims: 0, claim: '', cancelled: false };
  const asked = { agent, task, taskAttempt: attempt, model, tools, outputTokensMax, timeoutMs };
  const summary = { ...summaryOf(seen), ...embeddingOf(seen) };
  const { agentName } = seen.data;
  // What an agent asks of its answers is not asked of a summary, nor of vectors.
  const isRuled =
    Object.keys(summary).length === 0 && memberOf(state.agentRules ?? {}, agentName) !== undefined;
  const entry: ModelCallEntry = {
    ...asked,
    ...nothing,
    requestedAtMs: seen.atMs,
    ...summary,
    ...(isRuled ? { agentName } : {}),
  };
  const { tranches } = state;
  return {
    ...state,
    conversations: talk(state, seen),
    calls: withMember(state.calls, call, entry),
    ...(tranches === undefined ? {} : { tranches: askAgain(tranches) }),
  };
}

/** So much is spent for the call: of the session, of its task, of the day. */
export function spend(
  state: ModelGatewayState,
  entry: Pick<ModelCallEntry, 'task' | 'budgetLog'> | undefined,
  nanoUsd: number,
): ModelGatewayState {
  if (nanoUsd === 0) return state;
  const spent = { ...state, spentNanoUsd: state.spentNanoUsd + nanoUsd };
  if (entry === undefined) return spent;
  const { tasks, tranches, asides } = state;
  const owner = taskOfPlan(entry.task);
  const task = tasks === undefined ? undefined : memberOf(tasks, owner);
  const log = entry.budgetLog;
  return {
    ...spent,
    ...(asides === undefined
      ? {}
      : { asides: changedAsides(asides, entry.task, { spentNanoUsd: nanoUsd }) }),
    ...(tasks === undefined || task === undefined
      ? {}
      : {
          tasks: withMember(tasks, owner, {
            ...task,
            spentNanoUsd: task.spentNanoUsd + nanoUsd,
          }),
        }),
    ...(tranches === undefined || log === undefined
      ? {}
      : { tranches: spendFrom(tranches, log, nanoUsd) }),
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

export function claim(
  state: ModelGatewayState,
  seen: SeenEvent<'model.claimed'>,
): ModelGatewayState {
  const { call, model, attempt } = seen.data;
  const known = memberOf(state.calls, call);
  // It was made again while the outcome was on its way: the call is settled, and the claim opens nothing.
  if (known === undefined && attempt > 1) return state;
  const entry = known ?? strayEntry(model);
  const claimed = { ...entry, claims: attempt, claim: addressOf(seen), chosen: model };
  return { ...state, calls: withMember(state.calls, call, claimed) };
}

export function reserve(
  state: ModelGatewayState,
  seen: SeenEvent<'budget.reserved'>,
): ModelGatewayState {
  const {
    call,
    reservedNanoUsd: costNanoUsd,
    inputTokensMost,
    priceVersion,
    budgetLog,
  } = seen.data;
  const entry = memberOf(state.calls, call);
  if (entry === undefined) return state;
  const heldNanoUsd = (entry.heldNanoUsd ?? 0) + costNanoUsd;
  const quote = { inputTokensMost, costNanoUsd, known: true, priceVersion };
  const held = { ...entry, heldNanoUsd, quote, ...(budgetLog === undefined ? {} : { budgetLog }) };
  return { ...state, calls: withMember(state.calls, call, held) };
}

export function settle(
  state: ModelGatewayState,
  seen: SeenEvent<'model.completed' | 'model.failed'>,
): ModelGatewayState {
  const { call, costNanoUsd } = seen.data;
  const entry = memberOf(state.calls, call);
  const addedNanoUsd = entry === undefined ? costNanoUsd : settledNanoUsd(entry, costOf(seen));
  const spent = spend(state, entry, addedNanoUsd);
  if (entry === undefined) return costNanoUsd === 0 ? state : spent;
  const settled = { ...spent, calls: withoutMember(state.calls, call) };
  if (seen.type === 'model.failed') return settled;
  return { ...settled, conversations: heard(state.conversations, entry, seen) };
}

type Ended = SeenEvent<'model.completed' | 'model.failed' | 'model.attempt-failed'>;

/** A failure may have been paid for, and nobody knows how much; an answer says its estimate. */
const costOf = ({ type, data }: Ended) => ({
  costNanoUsd: data.costNanoUsd,
  known: type === 'model.completed' || data.costKnown,
});

/** A try failed: its money is settled, and the call waits for its next one. */
export function failTry(
  state: ModelGatewayState,
  seen: SeenEvent<'model.attempt-failed'>,
): ModelGatewayState {
  const entry = memberOf(state.calls, seen.data.call);
  const spent = entry === undefined ? seen.data.costNanoUsd : settledNanoUsd(entry, costOf(seen));
  const paid = spend(state, entry, spent);
  if (entry === undefined) return spent === 0 ? state : paid;
  // It was cancelled while this try ran: there is nothing more to be asked.
  if (entry.cancelled) return { ...paid, calls: withoutMember(state.calls, seen.data.call) };
  const { model, code, class: kind, retryable, retryAfterMs = 0 } = seen.data;
  const failure = { model, code, class: kind, retryable, retryAfterMs };
  const tried = [...(entry.tried ?? []), { ...failure, atMs: seen.atMs, address: addressOf(seen) }];
  const { heldNanoUsd: _held, quote: _quote, chosen: _chosen, budgetLog: _log, ...rest } = entry;
  const next: ModelCallEntry = { ...rest, claims: 0, claim: '', tried };
  return { ...paid, calls: withMember(state.calls, seen.data.call, next) };
}

type TimerEvent = SeenEvent<'timer.set' | 'timer.cancelled' | 'timer.fired'>;

export function wait(state: ModelGatewayState, seen: TimerEvent): ModelGatewayState {
  const call = callOfTimer(seen.data.timer);
  const entry = call === undefined ? undefined : memberOf(state.calls, call);
  if (call === undefined || entry === undefined) return state;
  const { waitsUntilMs: _until, ...rest } = entry;
  const next = seen.type === 'timer.set' ? { ...rest, waitsUntilMs: seen.data.dueAtMs } : rest;
  return { ...state, calls: withMember(state.calls, call, next) };
}
