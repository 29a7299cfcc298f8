import { budgetsTopic, lanes as laneNames, sessionTopic } from '../../schemas/topics.ts';
import { createAggregator } from '../../services/aggregator/service.ts';
import type { Catalog } from '../../services/chassis/catalog/catalog.ts';
import type { Lanes } from '../../services/chassis/host/lanes.ts';
import type { FactsMoment, HostedService, HostPorts } from '../../services/chassis/host/ports.ts';
import {
  anyLogic,
  type BuiltService,
  type ServiceContext,
  type ServiceFactory,
} from '../../services/chassis/host/service-context.ts';
import type { AnyLogic, SessionMeta } from '../../services/chassis/protocol/service-logic.ts';
import type { EventTable } from '../../services/event-store/clickhouse.ts';
import { createEventStore, type KeepFailed } from '../../services/event-store/service.ts';
import { createIntake } from '../../services/intake/service.ts';
import { createJanitor } from '../../services/janitor/service.ts';
import { type ModelGatewayState, modelGatewayLogic } from '../../services/model-gateway/decide.ts';
import { breakerDefaults } from '../../services/model-gateway/gate/breaker.ts';
import { GatewayHosts, hostedGate } from '../../services/model-gateway/gate/hosts.ts';
import type { GateRules } from '../../services/model-gateway/gate/rules.ts';
import { gatherFacts } from '../../services/model-gateway/gather.ts';
import type { DayLimit } from '../../services/model-gateway/tranche.ts';
import { createPlanner } from '../../services/planner/service.ts';
import * as sandbox from '../../services/sandbox-executor/decide.ts';
import { createSupervisor } from '../../services/supervisor/service.ts';
import { createToolGuard } from '../../services/tool-guard/service.ts';
import * as runner from '../../services/tool-runner/decide.ts';
import { createWorkerPool } from '../../services/worker-pool/service.ts';
import {
  createFakeRunner,
  type FakeTool,
  fakeToolEffects,
  type StartedEffect,
} from './memory-effects.ts';
import { type FakeModel, fakeModelEffects } from './memory-models.ts';

/** The services of a simulated world: their real logics and facts; only what touches the world is played. */

export type ServiceWorld = Readonly<{
  catalog: Catalog;
  tools: Readonly<Record<string, FakeTool>>;
  model: FakeModel;
  /** What limits calls of models; default: nothing does. */
  gateRules?: GateRules;
  /** What a tenant may spend in a day; default: whatever it likes. */
  dayBudget?: DayLimit;
  started: StartedEffect[];
  /** Changes a logic before a host gets it, for mutations. */
  change(logic: AnyLogic): AnyLogic;
  /** What the event store writes to; default: a table that takes everything and keeps nothing. */
  table?: EventTable;
  /** What the event store of a host keeps of sessions that failed; default: nothing. */
  keepFailed?: KeepFailed;
  /** What is younger stays, where there is a janitor; default: thirty days. */
  retentionMs?: number;
}>;

const isolation = 'world';
const topics = laneNames.map(sessionTopic);

const real: Readonly<Record<string, ServiceFactory>> = {
  intake: createIntake,
  planner: createPlanner,
  supervisor: createSupervisor,
  'tool-guard': createToolGuard,
  aggregator: createAggregator,
};

/**
 * Names as `longrein start` takes them; `worker-pool` stands for every pool, `all` for everything here. The event store
 * and the janitor are there for who names them.
 */
export const worldServices: readonly string[] = [
  ...Object.keys(real),
  'worker-pool',
  'model-gateway',
  'tool-runner',
  'sandbox-executor',
];

const dayMs = 86_400_000;

/** The settings that the services of a world look at. */
function configOf(housekeepingMs: number, retentionMs = 30 * dayMs): ServiceContext['config'] {
  const places = { stateDir: '', blobDir: '', catalogDirs: [], workspaceDir: '' };
  const addresses = { brokers: [], registryUrl: '', clickhouseUrl: undefined };
  const retentionDays = retentionMs / dayMs;
  const waits = { sessionTimeoutMs: 10_000, retentionDays, housekeepingMs };
  const size = { partitions: 1, replication: 1, fsync: false, ...waits };
  const rest = { logLevel: 'info' as const, host: '', otlpEndpoint: undefined, model: undefined };
  return { ...places, ...addresses, ...size, ...rest, ablate: [] };
}

const note = (
  world: ServiceWorld,
  started: Omit<StartedEffect, 'atMs'>,
  ports: HostPorts,
): void => {
  world.started.push({ ...started, atMs: ports.clock.nowMs() });
};

function runnerOf(service: string, world: ServiceWorld, ports: HostPorts) {
  const { clock } = ports;
  const place = service === 'sandbox-executor' ? isolation : '';
  return createFakeRunner({
    clock,
    tools: world.tools,
    isolation: place,
    onStart: ({ callId, tool }) => note(world, { service, call: callId, name: tool }, ports),
    countOf: (tool) => world.started.filter(({ name }) => name === tool).length,
  });
}

function played(service: string, world: ServiceWorld, ports: HostPorts): BuiltService | undefined {
  if (service === 'model-gateway') return gateway(world, ports);
  const hosted = playedTools(service, world, ports);
  return hosted === undefined ? undefined : { hosted };
}

function playedTools(
  service: string,
  world: ServiceWorld,
  ports: HostPorts,
): HostedService | undefined {
  const parts = { ...ports, runner: runnerOf(service, world, ports) };
  if (service === 'tool-runner')
    return {
      logic: anyLogic(runner.toolRunnerLogic),
      topics,
      effects: fakeToolEffects(runner, parts),
    };
  if (service === 'sandbox-executor')
    return {
      logic: anyLogic(sandbox.sandboxExecutorLogic),
      topics,
      facts: () => ({ facts: { isolation } }),
      effects: fakeToolEffects(sandbox, parts),
    };
  return undefined;
}

/** Every call may cost twice what the played models take. */
const most = { costNanoUsd: 2_500, known: true, priceVersion: 'world' };

const noLimits: GateRules = { providers: {}, tenants: {}, breaker: breakerDefaults };

function gateway(world: ServiceWorld, ports: HostPorts): BuiltService {
  const service = 'model-gateway';
  const hosts = new GatewayHosts();
  const { gate, companion } = hostedGate(world.gateRules ?? noLimits, hosts);
  const effects = fakeModelEffects({
    ...{ clock: ports.clock, gate },
    model: world.model,
    onStart: ({ data }) => note(world, { service, call: data.call, name: data.model }, ports),
    countOf: () => world.started.filter((one) => one.service === service).length,
  });
  const parts = { ...{ providers: ['scripted'], gate, hosts }, quote: () => most };
  const dayBudget = () => world.dayBudget;
  const gather = { ...parts, dayBudget, countsTokens: () => true };
  const facts = (state: unknown, session: SessionMeta, moment: FactsMoment) => {
    const at = { ...moment, parts: gather };
    return { facts: gatherFacts(state as ModelGatewayState, session, at) };
  };
  const logs = [...topics, budgetsTopic];
  const keeps = { keepsLetters: [budgetsTopic] };
  const hosted = { logic: anyLogic(modelGatewayLogic), topics: logs, facts, effects, ...keeps };
  return { hosted, companion };
}

const nothingKept: EventTable = {
  insertBatch: async () => undefined,
  restoreLost: async () => 0,
};

/** An event store over the table of the world. */
const playedEventStore =
  ({ table = nothingKept, keepFailed }: ServiceWorld): ServiceFactory =>
  ({ ports }) => {
    const store = createEventStore({
      ports,
      table,
      ...(keepFailed === undefined ? {} : { keepFailed }),
      prepare: async () => undefined,
      onFatal: (error) => {
        throw error;
      },
    });
    const start = (host: Parameters<typeof store.attach>[0]): Promise<void> => {
      store.attach(host);
      return store.start();
    };
    return { hosted: store, companion: { start, stop: () => store.stop() } };
  };

function factoriesOf(name: string, world: ServiceWorld): ServiceFactory[] {
  const [kind, pool] = name.split(':');
  const { catalog } = world;
  if (name === 'event-store') return [playedEventStore(world)];
  if (name === 'janitor') return [createJanitor];
  if (kind === 'worker-pool')
    return (pool === undefined ? catalog.pools.map((one) => one.name) : [pool]).map(
      createWorkerPool,
    );
  const factory = real[name];
  if (factory === undefined) throw new Error(`a simulated world has no service ${name}`);
  return [factory];
}

/** Builds the named services for one host. */
export async function buildServices(
  names: readonly string[],
  world: ServiceWorld,
  at: { ports: HostPorts; housekeepingMs: number; lanes?: Lanes },
): Promise<readonly BuiltService[]> {
  const { catalog } = world;
  const onFatal = (error: Error): never => {
    throw error;
  };
  const { ports, lanes } = at;
  const known = lanes === undefined ? {} : { lanes };
  const config = configOf(at.housekeepingMs, world.retentionMs);
  const context = { config, catalog, ports, ...known, onFatal };
  const built: BuiltService[] = [];
  for (const name of names.flatMap((one) => (one === 'all' ? worldServices : [one]))) {
    const own = played(name, world, at.ports);
    if (own !== undefined) built.push(own);
    else for (const factory of factoriesOf(name, world)) built.push(await factory(context));
  }
  return built.map(({ hosted, ...rest }) => ({
    ...rest,
    hosted: changed(hosted, world.change(hosted.logic)),
  }));
}

/** A service may be an object with methods: only its logic is replaced. */
function changed(hosted: HostedService, logic: AnyLogic): HostedService {
  if (logic === hosted.logic) return hosted;
  return Object.assign(Object.create(hosted) as HostedService, { logic });
}
