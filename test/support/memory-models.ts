import {
  type Draft,
  event,
  type InputEventType,
  json,
  type SeenEvent,
  text,
} from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Clock, EffectJob, Effects } from '../../services/chassis/host/ports.ts';
import {
  type ModelCallToMake,
  type ModelGatewayState,
  mayRun,
  requestOf,
} from '../../services/model-gateway/decide.ts';
import { unrecorded } from '../../services/model-gateway/outcome.ts';
import { waitIn } from './memory-effects.ts';

/** Models of a simulated world. */

type Claim = SeenEvent<'model.claimed'>;

export type FakeModelAnswer = Readonly<{ afterMs?: number }> &
  (
    | Readonly<{
        text: string;
        calls?: readonly Readonly<{ name: string; arguments: JsonValue }>[];
      }>
    | Readonly<{ failure: Readonly<{ code: string; retryable: boolean; message?: string }> }>
  );

/** `count` says how often any model was asked in this world, from 1. */
export type FakeModel = (request: ModelCallToMake, count: number) => FakeModelAnswer;

const tokens = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

const providerOf = (model: string): string => model.slice(0, Math.max(0, model.indexOf('/')));

function failedModel(
  claim: Claim,
  failure: { code: string; retryable: boolean; message?: string },
  durationMs: number,
): Draft<'model.failed'> {
  const { call, attempt, model } = claim.data;
  const { code, retryable, message = 'No answer.' } = failure;
  const kind = retryable ? ('overloaded' as const) : ('invalid-request' as const);
  const price = { costNanoUsd: 0, costKnown: true, priceVersion: 'world' };
  const head = { call, claim: '', attempt, provider: providerOf(model), model };
  const data = {
    ...head,
    code,
    class: kind,
    retryable,
    inputTokens: 0,
    outputTokens: 0,
    ...tokens,
  };
  return event('model.failed', { ...data, ...price, durationMs }, { message: text(message) });
}

function answered(
  claim: Claim,
  answer: Extract<FakeModelAnswer, { text: string }>,
  durationMs: number,
): Draft<'model.completed'> {
  const { call, attempt, model } = claim.data;
  const toolCalls = (answer.calls ?? []).map((one, index) => ({ id: `${call}-${index}`, ...one }));
  const message = { text: answer.text, toolCalls };
  const finishReason = toolCalls.length === 0 ? ('stop' as const) : ('tool-calls' as const);
  const usage = { inputTokens: 40, outputTokens: 10 + answer.text.length, ...tokens };
  const price = { costNanoUsd: 1_000 + answer.text.length, costKnown: true, priceVersion: 'world' };
  const head = { call, claim: '', attempt, provider: providerOf(model), model, finishReason };
  const data = { ...head, ...usage, ...price, durationMs, toolCalls: toolCalls.length };
  return event('model.completed', data, { message: json(message as unknown as JsonValue) });
}

export type FakeModelParts = Readonly<{
  clock: Clock;
  model: FakeModel;
  onStart(claim: Claim): void;
  countOf(): number;
}>;

/** The effects of the model gateway over a function. */
export function fakeModelEffects(parts: FakeModelParts): Effects<unknown> {
  const run = async (
    claim: Claim,
    state: ModelGatewayState,
    signal: AbortSignal,
  ): Promise<Draft<InputEventType>> => {
    parts.onStart(claim);
    const request = requestOf(state, claim.data.call);
    if (request === undefined)
      return failedModel(claim, { code: 'CALL_NOT_MADE', retryable: false }, 0);
    const answer = parts.model(request, parts.countOf());
    const afterMs = answer.afterMs ?? 20;
    if (await waitIn(parts.clock, afterMs, signal))
      return failedModel(
        claim,
        { code: 'MODEL_STOPPED', retryable: signal.reason === 'deadline' },
        0,
      );
    return 'failure' in answer
      ? failedModel(claim, answer.failure, afterMs)
      : answered(claim, answer, afterMs);
  };
  const jobOf = (seen: SeenEvent, state: ModelGatewayState): EffectJob | undefined => {
    if (seen.type !== 'model.claimed') return undefined;
    const { call, deadlineAtMs } = seen.data;
    const notStarted = (reason: 'cancelled' | 'timeout') =>
      failedModel(seen, { code: 'CALL_NOT_MADE', retryable: reason === 'timeout' }, 0);
    return {
      ...{ call, deadlineAtMs, notStarted },
      run: ({ signal }) => run(seen, state, signal),
      unrecorded: (outcome, why) => unrecorded(seen, outcome, why),
    };
  };
  return { jobOf, mayRun } as Effects<unknown>;
}
