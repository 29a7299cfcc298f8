import { MemoryCluster } from '../../../services/chassis/log/memory/memory-cluster.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';
import { buildServices } from '../../support/memory-services.ts';
import { quietPorts } from '../../support/quiet-ports.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { simulatedCatalog } from './catalog.ts';

export type Logics = ReadonlyMap<string, { logic: AnyLogic; topics: readonly string[] }>;

let built: Logics | undefined;

/** The logics of all services as they are in the code, whatever a run did to them. */
export async function realLogics(): Promise<Logics> {
  if (built !== undefined) return built;
  const world = {
    ...{ catalog: simulatedCatalog(), tools: {}, started: [] },
    model: () => ({ text: '' }),
    change: (logic: AnyLogic) => logic,
  };
  const clock = new VirtualClock();
  const ports = quietPorts(new MemoryCluster({ scheduler: clock }).connect('nobody'), clock);
  const services = await buildServices(['all'], world, { ports, housekeepingMs: 1_000 });
  built = new Map(services.map(({ hosted: { logic, topics } }) => [logic.name, { logic, topics }]));
  return built;
}
