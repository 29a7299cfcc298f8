import type { HostedService } from '../../../services/chassis/host/ports.ts';
import { MemoryCluster } from '../../../services/chassis/log/memory/memory-cluster.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';
import { buildServices } from '../../support/memory-services.ts';
import { quietPorts } from '../../support/quiet-ports.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { simulatedCatalog } from './catalog.ts';

export type Logics = ReadonlyMap<string, Pick<HostedService, 'logic' | 'topics' | 'effects'>>;

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
  built = new Map(services.map(({ hosted }) => [hosted.logic.name, hosted]));
  return built;
}
