import type { PartitionName } from '../log/port.ts';
import { nameOf } from './assignments.ts';
import type { Halt } from './halts.ts';
import type { Heartbeat, OwnedEpochs } from './presence.ts';
import { type StandsBy, standsByOf } from './standing-by.ts';
import type { Named, Suspect } from './suspects.ts';

/** What a host says of its partitions: to who asks, and in its heartbeats. */

export type HostStatus = Readonly<{
  partitions: readonly Readonly<{
    name: string;
    owned: readonly string[];
    /** What is left to a newer release there. */
    standsBy?: StandsBy;
  }>[];
  /** `topic/partition` -> why it is not worked on. */
  halted: Readonly<Record<string, Halt>>;
}>;

type Served = Readonly<{
  name: PartitionName;
  ownership: Readonly<{ epochs: ReadonlyMap<string, number> }>;
  standsBy: StandsBy | undefined;
  ignored: Readonly<{ count: number }>;
  caution: Readonly<{ deciding: readonly Named[]; suspects: readonly Suspect[] }>;
}>;

export function statusOf(all: readonly Served[], halted: HostStatus['halted']): HostStatus {
  const partitions = all.map(({ name, ownership, standsBy }) => ({
    name: nameOf(name),
    owned: [...ownership.epochs.keys()],
    ...(standsBy === undefined ? {} : { standsBy }),
  }));
  return { partitions, halted };
}

/** Of a heartbeat: what is owned, what stands still, what is ignored and what stands by. */
export function servedOf(
  all: readonly Served[],
  stopped: HostStatus['halted'],
): Pick<Heartbeat, 'partitions' | 'halted' | 'ignored' | 'standsBy' | 'deciding' | 'suspects'> {
  const partitions: Record<string, OwnedEpochs> = {};
  for (const { name, ownership } of all) {
    if (ownership.epochs.size > 0) partitions[nameOf(name)] = Object.fromEntries(ownership.epochs);
  }
  const halted = Object.keys(stopped).length === 0 ? {} : { halted: stopped };
  return { partitions, ...halted, ...ignoredOf(all), ...standsByOf(all), ...carefulOf(all) };
}

function ignoredOf(all: readonly Served[]): Pick<Heartbeat, 'ignored'> {
  const some = all.filter(({ ignored }) => ignored.count > 0);
  if (some.length === 0) return {};
  return { ignored: Object.fromEntries(some.map((one) => [nameOf(one.name), one.ignored.count])) };
}

function carefulOf(all: readonly Served[]): Pick<Heartbeat, 'deciding' | 'suspects'> {
  const deciding: Record<string, readonly Named[]> = {};
  const suspects: Record<string, readonly Suspect[]> = {};
  for (const { name, caution } of all) {
    if (caution.deciding.length > 0) deciding[nameOf(name)] = caution.deciding;
    const found = caution.suspects;
    if (found.length > 0) suspects[nameOf(name)] = found;
  }
  return {
    ...(Object.keys(deciding).length === 0 ? {} : { deciding }),
    ...(Object.keys(suspects).length === 0 ? {} : { suspects }),
  };
}
