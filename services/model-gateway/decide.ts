/**
 * The pure part of the model gateway: who may call which model, and when a call is made again.
 * Calls no model.
 *
 * M1 A call is claimed once, and again while its claim is lost, at most three times: asking a model
 *    twice does no harm but cost.
 * M2 Nothing is claimed for work that ended, nor for money that is not there (budget.ts).
 * M3 A claim always ends, with an outcome or with `model.denied`.
 * M4 Where a name stands for several models, a try that failed leads to the next one (route.ts); a
 *    call that no model can take now waits, no longer than its own time-out.
 */

import type { SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { isDelegated } from '../chassis/catalog/child-task.ts';
import { messagesOf, summaryMessages } from '../chassis/context/conversation.ts';
import { toolsOf } from '../chassis/context/model-context.ts';
import { memberOf, sortedEntries } from '../chassis/effects/member.ts';
import type { ServiceLogic } from '../chassis/protocol/service-logic.ts';
import type { AgentRules } from './agent-rules.ts';
import { taskEnds } from './asides.ts';
import { inputTokensMost } from './budget.ts';
import { evolve } from './evolve.ts';
import { answerAll, quoteKey } from './facts.ts';
import type { ModelGatewayFacts } from './gateway-facts.ts';
import { closingTimer, decideLedger, ledgerDeliveries, trancheDeliveries } from './ledger.ts';
import type { ModelMessage, ModelTool } from './providers/port.ts';
import { candidatesOf, isRouted } from './route.ts';
import { callOfTimer, initialState, type ModelCallEntry, type ModelGatewayState } from './state.ts';
import { returnAfterFailure } from './tranche.ts';

export type { ModelGatewayFacts } from './gateway-facts.ts';
export type { ModelGatewayState } from './state.ts';

/** What to ask for a claimed call. `input` is the agent's input, for the scripted provider. */
export type ModelCallToMake = Readonly<{
  model: string;
  messages: readonly ModelMessage[];
  tools: readonly ModelTool[];
  outputTokensMax: number;
  input: JsonValue;
  timeoutMs: number;
  agent: string;
  /** Vectors of these are wanted, and nothing is said. */
  texts?: readonly string[];
}>;

/** An outcome gives money back that another call may wait for. */
const answered: ReadonlySet<string> = new Set([
  'model.requested',
  'model.completed',
  'model.failed',
  'model.attempt-failed',
  'budget.granted',
  'budget.refused',
  'tranche.requested',
  'tranche.returned',
  'task.delegated',
  // So does a child session that ends, or never begins.
  ...['child.requested', 'child.ended', 'child.cancelled', 'delivery.refused'],
  // What was borrowed goes back at the end.
  'session.completed',
  'session.failed',
  'session.cancelled',
]);

function answers(seen: SeenEvent): boolean {
  if (seen.type === 'timer.fired')
    return callOfTimer(seen.data.timer) !== undefined || seen.data.timer === closingTimer;
  // What was set aside for it comes back.
  if (taskEnds.has(seen.type) && 'task' in seen.data) return isDelegated(String(seen.data.task));
  return answered.has(seen.type);
}

export const modelGatewayLogic: ServiceLogic<ModelGatewayState, ModelGatewayFacts> = {
  name: 'model-gateway',
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => initialState,
  evolve,
  answers,
  decide: (state, input) =>
    state.ledger === undefined ? answerAll(state, input) : decideLedger(state.ledger),
  decideAfterFailure: returnAfterFailure,
  deliveries: (seen, session) => [
    ...ledgerDeliveries(seen, session.session),
    ...trancheDeliveries(seen, session),
  ],
};

/** What the agent of a call asks besides. */
export function rulesOf(state: ModelGatewayState, call: string): AgentRules {
  const { agentName: name, embed } = memberOf(state.calls, call) ?? {};
  if (embed !== undefined)
    return embed.cacheMs === undefined ? {} : { answerCacheMs: embed.cacheMs };
  return (name === undefined ? undefined : memberOf(state.agentRules ?? {}, name)) ?? {};
}

/** What to ask the model for a call. Undefined once the call has ended or its agent is gone. */
export function requestOf(state: ModelGatewayState, call: string): ModelCallToMake | undefined {
  const entry = memberOf(state.calls, call);
  if (entry === undefined) return undefined;
  if (entry.embed !== undefined) return embeddingRequest(entry, entry.embed);
  const known = memberOf(state.conversations, entry.agent);
  if (known === undefined) return undefined;
  const { model, outputTokensMax, timeoutMs, agent } = entry;
  const { summary } = entry;
  const messages =
    summary === undefined ? messagesOf(known) : summaryMessages(known, summary, summary.asked);
  const tools = toolsOf(state.tools, entry.tools);
  return { model, messages, tools, outputTokensMax, input: known.input, timeoutMs, agent };
}

function embeddingRequest(
  { model, outputTokensMax, timeoutMs, agent }: ModelCallEntry,
  { texts }: NonNullable<ModelCallEntry['embed']>,
): ModelCallToMake {
  const nothing = { messages: [], tools: [], input: null };
  return { model, ...nothing, outputTokensMax, timeoutMs, agent, texts };
}

/** A call to be made, with the most that it may take in; `key` is what its quote is called. */
export type QuotedCall = Readonly<{
  key: string;
  call: string;
  model: string;
  inputTokensMost: number;
  outputTokensMax: number;
}>;

/** The most that a call may take in and give out. */
export function mostOf(state: ModelGatewayState, call: string) {
  const asked = requestOf(state, call);
  if (asked === undefined) return undefined;
  const { messages, tools, texts = [], outputTokensMax } = asked;
  const said = [...messages, ...texts.map((text) => ({ role: 'user' as const, text }))];
  return { inputTokensMost: inputTokensMost(said, tools), outputTokensMax };
}

function quotesFor(state: ModelGatewayState, call: string, entry: ModelCallEntry): QuotedCall[] {
  const most = entry.cancelled || entry.claims > 0 ? undefined : mostOf(state, call);
  if (most === undefined) return [];
  const routed = isRouted(state, entry);
  return candidatesOf(state, entry).map((model) => ({
    ...{ key: quoteKey(call, model, routed), call, model },
    ...most,
  }));
}

/**
 * Calls that nobody claimed, for each model that may be asked: where the goal or a task has a
 * budget, or `always` (the day has one).
 */
export function callsToQuote(state: ModelGatewayState, always = false): readonly QuotedCall[] {
  const { budgetNanoUsd, tasks, asides } = state;
  if (!always && budgetNanoUsd === null && (tasks ?? asides) === undefined) return [];
  return sortedEntries(state.calls).flatMap(([call, entry]) => quotesFor(state, call, entry));
}

/**
 * Whether the effect of a claimed call may start or go on: not settled, and its work has not ended.
 */
export function mayRun(state: ModelGatewayState, call: string): boolean {
  const entry = memberOf(state.calls, call);
  return entry !== undefined && entry.claims > 0 && !entry.cancelled;
}
