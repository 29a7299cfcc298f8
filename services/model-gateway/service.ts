import { budgetsTopic, lanes, sessionTopic } from '../../schemas/topics.ts';
import type { Effects, FactsMoment } from '../chassis/host/ports.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import type { SessionMeta } from '../chassis/protocol/service-logic.ts';
import { AnswerCache } from './answer-cache.ts';
import { environmentSecrets, type ModelConfig, readModelConfig } from './config.ts';
import { type ModelGatewayState, modelGatewayLogic } from './decide.ts';
import { createModelEffects } from './effects.ts';
import { breakerDefaults } from './gate/breaker.ts';
import { GatewayHosts, hostedGate } from './gate/hosts.ts';
import { type GatherParts, gatherFacts } from './gather.ts';
import { providerOf } from './model-name.ts';
import { createProviders } from './routes.ts';
import { TokenChannel } from './tokens.ts';

const noLimits = { providers: {}, tenants: {}, breaker: breakerDefaults };

/** Whether anybody counts the tokens of this provider or tenant. */
const tokensCounted =
  ({ providers }: ModelConfig): GatherParts['countsTokens'] =>
  (provider, tenant) => {
    const { gate } = providers ?? {};
    const ofTenant = gate?.tenants[tenant] ?? gate?.tenants['*'];
    return [gate?.providers[provider], ofTenant].some((one) => one?.tokensPerMinute !== undefined);
  };

const dayBudgetsOf =
  ({ providers }: ModelConfig): GatherParts['dayBudget'] =>
  (tenant) => {
    const { dayBudgets = {} } = providers ?? {};
    const budget = dayBudgets[tenant] ?? dayBudgets['*'];
    if (budget === undefined) return undefined;
    const { dayNanoUsd: limitNanoUsd, trancheNanoUsd } = budget;
    return { limitNanoUsd, trancheNanoUsd };
  };

/** Calls models through the providers that are configured here. */
export const createModelGateway: ServiceFactory = async ({ catalog, ports }) => {
  const { clock } = ports;
  const nowMs = (): number => clock.nowMs();
  const config = readModelConfig();
  const parts = { secret: environmentSecrets(), nowMs, scripts: catalog.scripts };
  const providers = await createProviders(config, parts);
  const hosts = new GatewayHosts();
  const { gate, companion } = hostedGate(config.providers?.gate ?? noLimits, hosts);
  const countsTokens = tokensCounted(config);
  const gather: GatherParts = {
    ...{ providers: [...providers.keys()], gate, hosts, countsTokens },
    dayBudget: dayBudgetsOf(config),
    quote: (use) => providers.get(providerOf(use.model))?.quote(use),
  };
  const hosted = {
    logic: anyLogic(modelGatewayLogic),
    topics: [...lanes.map(sessionTopic), budgetsTopic],
    keepsLetters: [budgetsTopic],
    facts: (state: unknown, session: SessionMeta, moment: FactsMoment) => {
      const at = { ...moment, parts: gather };
      return { facts: gatherFacts(state as ModelGatewayState, session, at) };
    },
    effects: createModelEffects({
      ...{ providers, clock, gate, countsTokens, blobs: ports.blobs },
      cache: new AnswerCache(),
      tokens: new TokenChannel(ports),
    }) as Effects<unknown>,
  };
  return { hosted, companion };
};
