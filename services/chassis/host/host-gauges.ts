import type { Meter, Sample } from '../telemetry/meter.ts';
import { metrics } from '../telemetry/metrics.ts';
import type { HostHealth } from './health.ts';
import type { Host } from './host.ts';
import type { HostPorts } from './ports.ts';
import { TopicEnds } from './topic-ends.ts';

/** What a host measures of itself when somebody asks. Answers what stops it. */
export function measureHost(
  host: Host,
  { meter, ports, health }: { meter: Meter; ports: HostPorts; health: HostHealth },
): () => void {
  const ends = new TopicEnds(ports, () => host.topics);
  ends.start();
  const { host: name, release } = host.identity;
  meter.gauge(metrics.hostInfo, () => [{ labels: [name, release], value: 1 }]);
  meter.gauge(metrics.ready, () => [{ labels: [], value: health.now().ready ? 1 : 0 }]);
  meter.gauge(metrics.serviceReady, () =>
    Object.entries(health.now().serviceReady).map(([service, ready]) => ({
      labels: [service],
      value: ready ? 1 : 0,
    })),
  );
  meter.gauge(metrics.partitionsOwned, () => ownedBy(host));
  meter.gauge(metrics.partitionsHalted, () => [
    { labels: [], value: Object.keys(host.status().halted).length },
  ]);
  meter.gauge(metrics.logLag, () => samplesOf(ends.behind(host.positions())));
  return () => ends.stop();
}

/** A sample for each member, with its key as the only label. */
export const samplesOf = (values: ReadonlyMap<string, number>): readonly Sample[] =>
  [...values].map(([label, value]) => ({ labels: [label], value }));

function ownedBy(host: Host): readonly Sample[] {
  const counts = new Map<string, number>();
  for (const { owned } of host.status().partitions)
    for (const service of owned) counts.set(service, (counts.get(service) ?? 0) + 1);
  return samplesOf(counts);
}
