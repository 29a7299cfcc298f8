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
import { type Claim, notStarted, outcomeDraft, unrecorded } from './outcome.ts';
import { createProviders, type ModelProviders } from './routes.ts';

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
        unrecorded: (outcome, why) => unrecorded(seen, outcome, why),
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
