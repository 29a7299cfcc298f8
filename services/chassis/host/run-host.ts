import { ablatableRules, takeAway } from '../ablation.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { loadCatalog, requireCatalog } from '../catalog/load.ts';
import { release } from '../config/package-root.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import { createDirectoryBlobs } from '../content/blobs.ts';
import { keySettingsOf, openContentKeys } from '../content/open-keys.ts';
import { LongreinError, toError } from '../errors.ts';
import { createKafkaLog } from '../log/kafka/kafka-log.ts';
import type { LogPort } from '../log/port.ts';
import { createRegistryCodec } from '../log/registry.ts';
import { createLogger } from '../telemetry/logger.ts';
import { masksFrom } from '../telemetry/masks.ts';
import { Host } from './host.ts';
import { HostTelemetry } from './host-telemetry.ts';
import { Lanes } from './lanes.ts';
import type { HostPorts, Logger } from './ports.ts';
import { realClock, realRandom } from './real-ports.ts';
import type { BuiltService, ServiceFactory } from './service-context.ts';
import { registrySpecs, topicSpecs } from './topic-specs.ts';

export type RunningHost = Readonly<{
  host: Host;
  /** Resolves when the host owns its partitions; rejects on a fatal error before that. */
  ready: Promise<void>;
  stop(): Promise<void>;
}>;

const stopWithinMs = 8_000;

/** The registry topic is made first: it says which topics there are besides. */
async function makeTopics(config: RuntimeConfig, log: LogPort, logger: Logger): Promise<Lanes> {
  await log.ensureTopics(registrySpecs(config));
  const lanes = new Lanes({ log, logger }, config.partitions);
  await lanes.start();
  await log.ensureTopics(topicSpecs(config, lanes.table));
  return lanes;
}

/** Waits out what is only away: says what it waits for at once, tries again with back-off, for ever. */
export async function patiently<T>(
  what: string,
  logger: Logger,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (thrown) {
      const error = toError(thrown);
      if (!(error instanceof LongreinError) || !error.retryable) throw error;
      logger.warn(
        { code: error.code, error: error.message, fix: error.fix },
        `waiting for ${what}`,
      );
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(5_000, 500 * 2 ** Math.min(tries, 4))),
      );
    }
  }
}

/** The catalog with every model alias turned to LONGREIN_MODEL where that is set. */
export function readCatalog(config: RuntimeConfig): Catalog {
  const { model } = config;
  if (model === undefined) return requireCatalog(config.catalogDirs);
  const aliases = Object.keys(loadCatalog(config.catalogDirs).catalog.models);
  return requireCatalog(config.catalogDirs, {
    models: Object.fromEntries(aliases.map((alias) => [alias, model])),
  });
}

export type Connected = Readonly<{ ports: HostPorts; lanes: Lanes }>;

/** Connects to broker and registry, waiting for both, and makes the topics. */
export async function connect(
  config: RuntimeConfig,
  logger: Logger,
  telemetry: Pick<HostTelemetry, 'health' | 'figures' | 'tracer'>,
): Promise<Connected> {
  const log: LogPort = createKafkaLog({
    brokers: config.brokers,
    clientId: config.host,
    logger,
    sessionTimeoutMs: config.sessionTimeoutMs,
  });
  const { health, figures, tracer } = telemetry;
  const until = <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
    health.waitsFor(what);
    return patiently(what, logger, attempt);
  };
  const lanes = await until(`the broker at ${config.brokers.join(', ')}`, () =>
    makeTopics(config, log, logger),
  );
  const codec = await until(`the schema registry at ${config.registryUrl}`, () =>
    createRegistryCodec(config.registryUrl),
  );
  const blobs = createDirectoryBlobs(config.blobDir);
  const keys = openContentKeys(config.keys ?? keySettingsOf({}, config.stateDir));
  const own = { log, codec, blobs, keys, logger, tracer, clock: realClock, random: realRandom };
  return { ports: figures === undefined ? own : { ...own, figures }, lanes };
}

/** For tests of the tests: a stack that breaks its own rules must say so. */
function ablate({ ablate: rules }: RuntimeConfig, logger: Logger): void {
  takeAway(rules);
  for (const rule of rules) {
    const without = ablatableRules[rule];
    logger.warn({ rule, without }, `rule ${rule} is taken away; for tests only`);
  }
}

async function untilReady(host: Host): Promise<void> {
  while (!host.ready) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Starts one host with these services. Used by every service's main and by `longrein start`, which has read the catalog. */
export async function runHost(
  config: RuntimeConfig,
  factories: readonly ServiceFactory[],
  onFatal: (error: LongreinError) => void,
  catalog: Catalog = readCatalog(config),
): Promise<RunningHost> {
  const logger = createLogger(config.logLevel, { host: config.host }, masksFrom(config.masksFile));
  ablate(config, logger);
  const telemetry = await HostTelemetry.start(config, config.release ?? release);
  const { ports, lanes } = await connect(config, logger, telemetry);
  const context = { config, catalog, ports, lanes, onFatal };
  const built: BuiltService[] = [];
  for (const factory of factories) built.push(await factory(context));
  const host = new Host({
    name: config.host,
    release: config.release ?? release,
    services: built.map((one) => one.hosted),
    ports,
    lanes,
    housekeepingMs: config.housekeepingMs,
    onFatal,
  });
  const allTopics = topicSpecs(config, lanes.table).map(({ name }) => name);
  telemetry.health.waitsFor('the consumer group');
  await patiently('the broker', logger, () => host.start(allTopics));
  const companions = built.flatMap((one) => one.companion ?? []);
  for (const companion of companions)
    await patiently('the broker', logger, () => companion.start(host));
  telemetry.watch(host, ports, built);
  logger.info({ services: built.map((one) => one.hosted.logic.name) }, 'host started');
  return {
    host,
    ready: untilReady(host),
    async stop() {
      telemetry.health.stops();
      for (const companion of companions) await companion.stop();
      await host.stop(stopWithinMs);
      await lanes.stop();
      await ports.log.close();
      await telemetry.stop();
    },
  };
}
