import type { HostedService } from '../../../services/chassis/host/ports.ts';
import { MemoryCluster } from '../../../services/chassis/log/memory/memory-cluster.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';
import { buildServices } from '../../support/memory-services.ts';
import { quietPorts } from '../../support/quiet-ports.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { simulatedCatalog } from './catalog.ts';
import { asRelease, releases } from './releases.ts';

export type KnownLogic = Readonly<{
  logic: AnyLogic;
  topics: readonly string[];
  /** What says whether its effects may run. */
  effects?: HostedService['effects'];
  /** The logic of every release, by the behaviour that its turns name. */
  byBehaviour: ReadonlyMap<number, AnyLogic>;
}>;

export type Logics = ReadonlyMap<string, KnownLogic>;

/** A logic with what the other releases make of it. */
export function knownLogic(logic: AnyLogic, topics: readonly string[]): KnownLogic {
  const all = releases.map((release) => asRelease(release, logic));
  return { logic, topics, byBehaviour: new Map(all.map((one) => [one.behaviour, one])) };
}

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
  const names = ['all', 'event-store'];
  const services = await buildServices(names, world, { ports, housekeepingMs: 1_000 });
  built = new Map(
    services.map(({ hosted: { logic, topics, effects } }) => [
      logic.name,
      { ...knownLogic(logic, topics), effects },
    ]),
  );
  return built;
}
