/** Which hosts a stack should run, and which of those that run have to go. Pure. */

/** One process for all services, or one for each. */
export type Shape = 'all' | 'separate';

export interface HostPlan {
  readonly name: string;
  /** What `longrein start` is told. */
  readonly services: readonly string[];
}

export const hostOfAll = 'host';

/** The hosts of a shape. */
export function plannedHosts(shape: Shape, services: readonly string[]): readonly HostPlan[] {
  if (shape === 'all') return [{ name: hostOfAll, services: ['all'] }];
  return services.map((name) => ({ name, services: [name] }));
}

/** Processes of the stack that are no hosts. */
const backing: readonly string[] = ['broker', 'registry', 'clickhouse'];

/** The hosts among the processes of a stack. */
export const hostsAmong = (processNames: readonly string[]): readonly string[] =>
  processNames.filter((name) => !backing.includes(name));

/** The shape that runs already, if one does. */
export function runningShape(processNames: readonly string[]): Shape | undefined {
  const hosts = hostsAmong(processNames);
  if (hosts.includes(hostOfAll)) return 'all';
  return hosts.length > 0 ? 'separate' : undefined;
}

/** Hosts that the wanted shape has no place for. */
export function surplusHosts(
  processNames: readonly string[],
  wanted: readonly HostPlan[],
): readonly string[] {
  return hostsAmong(processNames).filter((name) => !wanted.some((one) => one.name === name));
}
