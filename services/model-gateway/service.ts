import { type Draft, event, json, type SeenEvent, text } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { lanes, sessionTopic } from '../../schemas/topics.ts';
import type { Clock, EffectJob, Effects } from '../chassis/host/ports.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { environmentSecrets, readModelConfig } from './config.ts';
import {
  callsToQuote,
  type ModelGatewayState,
  mayRun,
  modelGatewayLogic,
  requestOf,
} from './decide.ts';
import { parseModelName, providerOf } from './model-name.ts';
import type { ModelFailure, ModelOutcome } from './providers/port.ts';
import { createProviders, type ModelProviders } from './routes.ts';

type Claim = SeenEvent<'model.claimed'>;

const noUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};
const noCost = { costNanoUsd: 0, known: true, priceVersion: 'none' };

function failed(
  claim: Claim,
  outcome: { error: ModelFailure } & Partial<Extract<ModelOutcome, { kind: 'failed' }>>,
  durationMs: number,
): Draft<'model.failed'> {
  const { call, attempt, model } = claim.data;
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
    priceVersion: cost.priceVersion,
    durationMs,
  };
  return event('model.failed', data, {
    message: text(fix === undefined ? message : `${message} ${fix}`),
  });
}

function outcomeDraft(claim: Claim, outcome: ModelOutcome, durationMs: number) {
  if (outcome.kind === 'failed') return failed(claim, outcome, durationMs);
  const { call, attempt } = claim.data;
  const { usage, cost, finishReason, provider, model, message } = outcome;
  const { costNanoUsd, known, priceVersion } = cost;
  const answered = { call, claim: '', attempt, provider, model, finishReason };
  const price = { costNanoUsd, costKnown: known, priceVersion };
  const data = { ...answered, ...usage, ...price, durationMs, toolCalls: message.toolCalls.length };
  return event('model.completed', data, { message: json(message as unknown as JsonValue) });
}

function notStarted(claim: Claim, reason: 'cancelled' | 'timeout'): Draft<'model.failed'> {
  const message =
    reason === 'cancelled'
      ? 'The model was not called: what asked for it had ended.'
      : 'The model was not called: the deadline had passed.';
  const error = { code: 'CALL_NOT_MADE', message, class: reason, retryable: reason === 'timeout' };
  return failed(claim, { error }, 0);
}

function createModelEffects(providers: ModelProviders, clock: Clock): Effects<ModelGatewayState> {
  const run = async (
    claim: Claim,
    state: ModelGatewayState,
    control: { signal: AbortSignal; traceparent: string },
  ) => {
    const startedMs = clock.nowMs();
    const asked = requestOf(state, claim.data.call);
    const provider = providers.get(parseModelName(claim.data.model).provider);
    if (asked === undefined || provider === undefined) return notStarted(claim, 'cancelled');
    const { agent: _agent, timeoutMs: _timeout, ...request } = asked;
    const { call: callId, deadlineAtMs } = claim.data;
    const outcome = await provider.complete({ ...request, callId, deadlineAtMs, ...control });
    return outcomeDraft(claim, outcome, Math.max(0, Math.round(clock.nowMs() - startedMs)));
  };
  return {
    mayRun,
    jobOf(seen, state): EffectJob | undefined {
      if (seen.type !== 'model.claimed') return undefined;
      const { call, deadlineAtMs } = seen.data;
      return {
        call,
        deadlineAtMs,
        run: (control) => run(seen, state, control),
        notStarted: (reason) => notStarted(seen, reason),
      };
    },
  };
}

function factsOf(state: ModelGatewayState, providers: ModelProviders) {
  const quotes = callsToQuote(state).flatMap(({ call, ...use }) => {
    const quote = providers.get(providerOf(use.model))?.quote(use);
    return quote === undefined
      ? []
      : [[call, { inputTokensMost: use.inputTokensMost, ...quote }] as const];
  });
  const names = [...providers.keys()].sort();
  return quotes.length === 0
    ? { providers: names }
    : { providers: names, quotes: Object.fromEntries(quotes) };
}

/** Calls models through the providers that are configured here. */
export const createModelGateway: ServiceFactory = async ({ catalog, ports }) => {
  const nowMs = (): number => ports.clock.nowMs();
  const { scripts } = catalog;
  const parts = { secret: environmentSecrets(), nowMs, scripts };
  const providers = await createProviders(readModelConfig(), parts);
  return {
    hosted: {
      logic: anyLogic(modelGatewayLogic),
      topics: lanes.map(sessionTopic),
      facts: (state) => ({ facts: factsOf(state as ModelGatewayState, providers) }),
      effects: createModelEffects(providers, ports.clock) as Effects<unknown>,
    },
  };
};
