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

/** The shape that runs already, if one does. */
export function runningShape(
  processNames: readonly string[],
  services: readonly string[],
): Shape | undefined {
  if (processNames.includes(hostOfAll)) return 'all';
  return processNames.some((name) => services.includes(name)) ? 'separate' : undefined;
}

/** Hosts of the other shape. */
export function surplusHosts(
  processNames: readonly string[],
  wanted: readonly HostPlan[],
  services: readonly string[],
): readonly string[] {
  const isHost = (name: string): boolean => name === hostOfAll || services.includes(name);
  return processNames.filter((name) => isHost(name) && !wanted.some((one) => one.name === name));
}
