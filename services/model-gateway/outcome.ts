/** How an outcome of a model call becomes the input that everyone reads. */

import {
  type Draft,
  event,
  type InputEventType,
  json,
  type SeenEvent,
  text,
} from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Refused } from '../chassis/protocol/record.ts';
import { sentences } from '../chassis/words/sentences.ts';
import { parseModelName } from './model-name.ts';
import type { ModelCost, ModelFailure, ModelOutcome } from './providers/port.ts';

export type Claim = SeenEvent<'model.claimed'>;

const noUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};
const noCost = { costNanoUsd: 0, known: true, priceVersion: 'none' };

const elsewhere: ReadonlySet<ModelFailure['class']> = new Set([
  ...(['rate-limited', 'overloaded', 'timeout', 'unavailable', 'provider-error'] as const),
  ...(['authentication', 'context-too-long'] as const),
]);

/** Whether another model may do better, or the same one later: not where the request is wrong. */
export const mayTryAnother = ({ class: kind, code }: ModelFailure): boolean =>
  elsewhere.has(kind) || code === 'MODEL_NOT_FOUND' || code === 'MODEL_CANNOT_EMBED';

/** What the result says of it: by a word of its own, so that results of sessions from before stay as they were. */
const leastOf = ({ known }: ModelCost) => (known ? {} : { costIsLeast: true as const });

function failed(
  claim: Claim,
  outcome: { error: ModelFailure } & Partial<Extract<ModelOutcome, { kind: 'failed' }>>,
  durationMs: number,
): Draft<'model.failed' | 'model.attempt-failed'> {
  const { call, attempt, model, final, try: number = 1 } = claim.data;
  const { code, retryable, retryAfterMs, message, fix } = outcome.error;
  const cost = outcome.cost ?? noCost;
  const data = {
    call,
    claim: '',
    attempt,
    provider: parseModelName(model).provider,
    model,
    code,
    class: outcome.error.class,
    retryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: Math.round(retryAfterMs) }),
    ...(outcome.usage ?? noUsage),
    costNanoUsd: cost.costNanoUsd,
    costKnown: cost.known,
    ...leastOf(cost),
    priceVersion: cost.priceVersion,
    durationMs,
  };
  const content = { message: text(sentences(message, fix)) };
  if (final === false && mayTryAnother(outcome.error))
    return event('model.attempt-failed', { ...data, try: number }, content);
  return event('model.failed', data, content);
}

export function outcomeDraft(claim: Claim, outcome: ModelOutcome, durationMs: number) {
  if (outcome.kind === 'failed') return failed(claim, outcome, durationMs);
  const { call, attempt } = claim.data;
  const { usage, cost, finishReason, provider, model, message } = outcome;
  const { costNanoUsd, known, priceVersion } = cost;
  const answered = { call, claim: '', attempt, provider, model, finishReason };
  const price = { costNanoUsd, costKnown: known, ...leastOf(cost), priceVersion };
  const said = outcome.cached === true ? { cached: true } : {};
  const count = { durationMs, toolCalls: message.toolCalls.length };
  const data = { ...answered, ...usage, ...price, ...count, ...said, ...vectorsIn(message) };
  return event('model.completed', data, { message: json(message as unknown as JsonValue) });
}

function vectorsIn({ vectors }: Extract<ModelOutcome, { kind: 'completed' }>['message']) {
  const [first] = vectors ?? [];
  return vectors === undefined || first === undefined
    ? {}
    : { embeds: vectors.length, dimensions: first.length };
}

export function notStarted(claim: Claim, reason: 'cancelled' | 'timeout') {
  const message =
    reason === 'cancelled'
      ? 'The model was not called: what asked for it had ended.'
      : 'The model was not called: the deadline had passed.';
  const error = { code: 'CALL_NOT_MADE', message, class: reason, retryable: reason === 'timeout' };
  return failed(claim, { error }, 0);
}

/** The model answered and was paid; only its answer is not there. */
export function unrecorded(claim: Claim, outcome: Draft<InputEventType>, why: Refused) {
  const message = `The model answered, but its answer could not be recorded: ${why.message}.`;
  const error = { code: why.code, message, class: 'provider-error', retryable: false } as const;
  // Not another try: this one was answered and paid.
  const draft = failed(claim, { error: { ...error, class: 'invalid-request' } }, 0);
  const data = { ...draft.data, ...paidFor(outcome), class: 'limit' };
  return { ...draft, data } as Draft<'model.failed'>;
}

/** What an outcome says of provider, tokens, money and time. */
function paidFor({ type, data }: Draft<InputEventType>) {
  if (type !== 'model.completed' && type !== 'model.failed' && type !== 'model.attempt-failed')
    return {};
  const { provider, model, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = data;
  const { reasoningTokens, costNanoUsd, costKnown, costIsLeast, priceVersion, durationMs } = data;
  const tokens = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens };
  const least = costIsLeast === undefined ? {} : { costIsLeast };
  return { provider, model, ...tokens, costNanoUsd, costKnown, ...least, priceVersion, durationMs };
}
