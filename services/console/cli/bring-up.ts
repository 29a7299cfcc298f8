/** The whole local stack: backing services, then hosts. What `up` and `demo` do. */

import type { Report } from '../../../deploy/local/report.ts';
import { up as startBacking } from '../../../deploy/local/stack.ts';
import { readStack, type StackFile } from '../../../deploy/local/stack-file.ts';
import { hostEnvironment, localSettings } from './config.ts';
import { plannedHosts, runningShape, type Shape, surplusHosts } from './host-plan.ts';
import { type HostState, startHosts, stopHosts } from './hosts.ts';
import type { Environment } from './terminal.ts';

export interface BringUpOptions {
  readonly environment: Environment;
  /** What runs already is kept if no shape is asked for; else one host. */
  readonly shape?: Shape;
  readonly clickhouse: boolean;
  readonly report: Report;
}

export interface StackUp {
  readonly stateDir: string;
  readonly brokers: readonly string[];
  readonly registryUrl: string | null;
  readonly clickhouseUrl: string | null;
  readonly shape: Shape;
  readonly hosts: readonly HostState[];
}

/** Names of the steps that are told. */
export const upSteps = (clickhouse: boolean): readonly string[] =>
  clickhouse
    ? ['broker', 'registry', 'clickhouse', 'services']
    : ['broker', 'registry', 'services'];

/** Starts what is missing and waits for all of it; calling it again changes nothing. */
export async function bringUp(options: BringUpOptions): Promise<StackUp> {
  const { environment, clickhouse, report } = options;
  const settings = localSettings(environment);
  const before = namesOf(await readStack(settings.stateDir));
  const shape = options.shape ?? runningShape(before) ?? 'all';
  const file = await startBacking({ settings, clickhouse }, report);
  const { brokers, registryUrl, clickhouseUrl } = file;
  const plans = plannedHosts(shape, shape === 'all' ? [] : await services(clickhouseUrl !== null));
  const env = hostEnvironment(environment, settings);
  const addresses = [brokers.join(), registryUrl, clickhouseUrl];
  const hosts = { settings, env, addresses, report };
  await stopHosts(hosts, surplusHosts(namesOf(file), plans));
  const states = await startHosts(hosts, plans);
  return {
    stateDir: settings.stateDir,
    brokers,
    registryUrl,
    clickhouseUrl,
    shape,
    hosts: states,
  };
}

const namesOf = (file: StackFile | undefined): readonly string[] =>
  (file?.processes ?? []).map((record) => record.name);

/** Services that get a process each; the event store needs ClickHouse. */
async function services(clickhouse: boolean): Promise<readonly string[]> {
  // Loading all services takes a while, and one host for all needs no list.
  const { serviceNames } = await import('../../main.ts');
  return serviceNames.filter((name) => clickhouse || name !== 'event-store');
}
