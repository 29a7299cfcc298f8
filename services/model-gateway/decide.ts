/**
 * The pure part of the model gateway: who may call which model, and when a call is made again.
 * Calls no model.
 *
 * M1 A call is claimed once, and again while its claim is lost, at most three times: asking a model
 *    twice does no harm but cost.
 * M2 Nothing is claimed for work that ended, nor for money that is not there (budget.ts).
 * M3 A claim always ends, with an outcome or with `model.denied`.
 */

import { type Draft, event, type SeenEvent, text } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { claimsMax, lostReason } from '../chassis/effects/lost-claim.ts';
import { memberOf, sortedEntries } from '../chassis/effects/member.ts';
import type { DecideInput, ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { inputTokensMost, Purse, type Quote, type Quotes } from './budget.ts';
import { messagesOf } from './conversation.ts';
import type { ModelMessage, ModelTool } from './providers/port.ts';
import { evolve, initialState, type ModelCallEntry, type ModelGatewayState } from './state.ts';

export type { ModelGatewayState } from './state.ts';

/** Names of the providers that this host can reach, such as `scripted` or `openai`. */
export type ModelGatewayFacts = Readonly<{
  providers: readonly string[];
  /** By call; for calls that are to be made in a session with a budget. */
  quotes?: Quotes;
}>;

/** What to ask for a claimed call. `input` is the agent's input, for the scripted provider. */
export type ModelCallToMake = Readonly<{
  model: string;
  messages: readonly ModelMessage[];
  tools: readonly ModelTool[];
  outputTokensMax: number;
  input: JsonValue;
  timeoutMs: number;
  agent: string;
}>;

type Denial = Readonly<{ code: string; message: string }>;

function unknownModel(model: string, providers: readonly string[]): Denial | undefined {
  const slash = model.indexOf('/');
  const provider = model.slice(0, Math.max(0, slash));
  if (providers.includes(provider) && model.length > slash + 1) return undefined;
  const names = [...providers].sort().join(', ') || 'none';
  const what =
    provider === ''
      ? `"${model}" is neither an alias of this session nor the name of a model (provider/model).`
      : `There is no model provider "${provider}" here.`;
  const known = `Providers that are set up: ${names}.`;
  const message = `${what} ${known} Set its key, or choose one of them.`;
  return { code: 'UNKNOWN_MODEL', message };
}

/** Turns of before there were quotes have none: a call was made while anything was left. */
function overBudget({ budgetNanoUsd, spentNanoUsd }: ModelGatewayState): Denial | undefined {
  if (budgetNanoUsd === null || spentNanoUsd < budgetNanoUsd) return undefined;
  const message =
    `The goal's budget of ${budgetNanoUsd} nano-USD is spent (${spentNanoUsd} so far). ` +
    'Submit it with a larger budgetNanoUsd, or with less to do.';
  return { code: 'BUDGET_EXHAUSTED', message };
}

function noPrice({ model }: ModelCallEntry): Denial {
  const message =
    `The goal has a budget, and ${model} has no price, so that nobody can say what a call costs. ` +
    'Give it prices (LONGREIN_PRICES_FILE), use a model that has them, or set no budget.';
  return { code: 'MODEL_PRICE_UNKNOWN', message };
}

function tooDear(entry: ModelCallEntry, quote: Quote, purse: Purse): Denial {
  const { model, outputTokensMax } = entry;
  const message =
    `A call of ${model} may cost ${quote.costNanoUsd} nano-USD ` +
    `(${quote.inputTokensMost} tokens in at most, ${outputTokensMax} out), ` +
    `and ${purse.leftNanoUsd} of the goal's budget are left. ` +
    'Submit it with a larger budgetNanoUsd, a smaller outputTokensMax, or less to do.';
  return { code: 'BUDGET_EXHAUSTED', message };
}

const denied = (call: string, { code, message }: Denial): Draft[] => [
  event('model.denied', { call, code }, { message: text(message) }),
];

function claim(call: string, entry: ModelCallEntry, nowMs: number): Draft[] {
  const { model, claims, timeoutMs } = entry;
  const deadlineAtMs = nowMs + timeoutMs;
  return [event('model.claimed', { call, attempt: claims + 1, model, deadlineAtMs })];
}

/** Holds the money first; waits for money that may come back; denies what can never be paid. */
function claimWithin(
  call: string,
  entry: ModelCallEntry,
  at: { quote: Quote; purse: Purse; nowMs: number },
): Draft[] {
  const { quote, purse, nowMs } = at;
  if (!quote.known) return denied(call, noPrice(entry));
  if (!purse.take(quote.costNanoUsd))
    return purse.mayGrow ? [] : denied(call, tooDear(entry, quote, purse));
  const reserved = event('budget.reserved', {
    call,
    attempt: entry.claims + 1,
    reservedNanoUsd: quote.costNanoUsd,
    leftNanoUsd: purse.leftNanoUsd,
    inputTokensMost: quote.inputTokensMost,
    outputTokensMax: entry.outputTokensMax,
    priceVersion: quote.priceVersion,
  });
  return [reserved, ...claim(call, entry, nowMs)];
}

const runnerLost = (claims: number): Denial => ({
  code: 'RUNNER_LOST',
  message:
    `Nobody saw the answer of this model call, made ${claims} times, and it is not made again. ` +
    'Look at the log of the model gateway for why its hosts went away or let the deadline pass.',
});

const notWanted: Denial = {
  code: 'CALL_CANCELLED',
  message: 'Nobody saw the answer of this model call, and what asked for it has ended.',
};

function answer(
  state: ModelGatewayState,
  input: DecideInput<ModelGatewayFacts>,
  { call, entry, purse }: { call: string; entry: ModelCallEntry; purse: Purse },
): Draft[] {
  const isLost = entry.claims > 0 && lostReason(input, call, entry.claim) !== undefined;
  if (entry.claims > 0 && !isLost) return [];
  if (entry.cancelled) return denied(call, notWanted);
  if (entry.claims >= claimsMax) return denied(call, runnerLost(entry.claims));
  const unknown = unknownModel(entry.model, input.facts.providers);
  if (unknown !== undefined) return denied(call, unknown);
  // A claim that was lost is made again for the same request.
  const quote = entry.quote ?? memberOf(input.facts.quotes ?? {}, call);
  if (purse.isLimited && quote !== undefined)
    return claimWithin(call, entry, { quote, purse, nowMs: input.nowMs });
  const denial = overBudget(state);
  return denial === undefined ? claim(call, entry, input.nowMs) : denied(call, denial);
}

/** An outcome gives money back that another call may wait for. */
const answered: ReadonlySet<string> = new Set([
  'model.requested',
  'model.completed',
  'model.failed',
]);

export const modelGatewayLogic: ServiceLogic<ModelGatewayState, ModelGatewayFacts> = {
  name: 'model-gateway',
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => initialState,
  evolve,
  answers: (seen: SeenEvent) => answered.has(seen.type),
  decide(state, input) {
    const purse = new Purse(state);
    return sortedEntries(state.calls).flatMap(([call, entry]) =>
      answer(state, input, { call, entry, purse }),
    );
  },
};

function toolsOf(state: ModelGatewayState, names: readonly string[]): ModelTool[] {
  return names.flatMap((asked) => {
    const tool = memberOf(state.tools, asked);
    if (tool === undefined) return [];
    return [{ name: tool.name, description: tool.description, inputSchema: tool.inputSchema }];
  });
}

/** What to ask the model for a call. Undefined once the call has ended or its agent is gone. */
export function requestOf(state: ModelGatewayState, call: string): ModelCallToMake | undefined {
  const entry = memberOf(state.calls, call);
  const known = entry === undefined ? undefined : memberOf(state.conversations, entry.agent);
  if (entry === undefined || known === undefined) return undefined;
  const { model, outputTokensMax, timeoutMs, agent } = entry;
  const messages = messagesOf(known);
  const tools = toolsOf(state, entry.tools);
  return { model, messages, tools, outputTokensMax, input: known.input, timeoutMs, agent };
}

/** Calls that nobody claimed, where the goal has a budget, with the most that each may take in. */
export function callsToQuote(
  state: ModelGatewayState,
): readonly { call: string; model: string; inputTokensMost: number; outputTokensMax: number }[] {
  if (state.budgetNanoUsd === null) return [];
  return sortedEntries(state.calls).flatMap(([call, { cancelled, claims }]) => {
    const asked = cancelled || claims > 0 ? undefined : requestOf(state, call);
    if (asked === undefined) return [];
    const { model, messages, tools, outputTokensMax } = asked;
    return [{ call, model, inputTokensMost: inputTokensMost(messages, tools), outputTokensMax }];
  });
}

/**
 * Whether the effect of a claimed call may start or go on: not settled, and its work has not ended.
 */
export function mayRun(state: ModelGatewayState, call: string): boolean {
  const entry = memberOf(state.calls, call);
  return entry !== undefined && entry.claims > 0 && !entry.cancelled;
}
