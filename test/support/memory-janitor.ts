import { Watermarks } from '../../services/chassis/host/watermarks.ts';
import type { MemoryCluster } from '../../services/chassis/log/memory/memory-cluster.ts';
import { Janitor } from '../../services/janitor/janitor.ts';
import { keepingLogger, quietPorts } from './quiet-ports.ts';
import type { VirtualClock } from './virtual-clock.ts';

type World = Readonly<{
  clock: VirtualClock;
  cluster: MemoryCluster;
  during<T>(pending: Promise<T>): Promise<T>;
}>;

/** A janitor as a program of its own in a world in memory. `run` lets the world go on until the round is over. */
export async function startJanitor(world: World, name = 'janitor', retentionMs = 0) {
  const log = world.cluster.connect(name);
  const logger = keepingLogger();
  const ports = quietPorts(log, world.clock, { logger });
  const watermarks = new Watermarks(ports);
  await world.during(watermarks.start());
  const janitor = new Janitor({ ports, watermarks, retentionMs });
  const run = (): Promise<void> => world.during(janitor.run());
  return { janitor, watermarks, log, logger, run };
}
