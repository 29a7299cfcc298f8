/** Services as they hold the log: who is listed, and what a person may do about it. */
import { firstGeneration } from '../../../schemas/topics.ts';
import { LongreinError } from '../../chassis/errors.ts';
import {
  type Deed,
  type ListedService,
  markKey,
  serviceKey,
  type Watermark,
} from '../../chassis/host/watermark-records.ts';
import type { Entry, Watermarks } from '../../chassis/host/watermarks.ts';
import type { Bounds } from '../../chassis/log/port.ts';
import { nearest } from '../../chassis/words/nearest.ts';

export type ServiceRow = ListedService &
  Readonly<{
    /** Records from its lowest watermark, in its worst partition, to the end of the log. */
    behindMax: number;
    where: string | undefined;
  }>;

type Known = Pick<Watermarks, 'listed' | 'of' | 'at'>;

/** Each listed service with the partition in which it holds most. */
export function serviceRows(
  watermarks: Known,
  bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>,
): ServiceRow[] {
  return [...watermarks.listed()]
    .sort((a, b) => (a.service < b.service ? -1 : 1))
    .map((listed) => {
      let behindMax = 0;
      let where: string | undefined;
      for (const [topic, partitions] of bounds) {
        if (!listed.topics.includes(firstGeneration(topic))) continue;
        for (const [partition, { low, high }] of partitions) {
          const mark = watermarks.of(listed.service, { topic, partition });
          const behind = high - (mark?.offset ?? low);
          if (behind > behindMax) [behindMax, where] = [behind, `${topic}/${partition}`];
        }
      }
      return { ...listed, behindMax, where };
    });
}

function marksOf(
  watermarks: Known,
  service: string,
  bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>,
): Watermark[] {
  const names = [...bounds].flatMap(([topic, partitions]) =>
    [...partitions.keys()].map((partition) => ({ topic, partition })),
  );
  return names.flatMap((name) => watermarks.of(service, name) ?? []);
}

/** Takes a service off the list for good; its marks go with it. Throws SERVICE_UNKNOWN or SERVICE_RUNNING. */
export function retire(
  watermarks: Known,
  service: string,
  at: {
    deed: Deed;
    bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>;
    runningOn: readonly string[];
  },
): Entry[] {
  const { deed, bounds, runningOn } = at;
  if (runningOn.length > 0) {
    const message = `${service} runs on ${runningOn.join(', ')}`;
    throw new LongreinError('SERVICE_RUNNING', message, {
      fix: 'stop what runs it first; a service that runs needs its part of the log',
    });
  }
  const marks = marksOf(watermarks, service, bounds);
  const listed = watermarks.listed().find((one) => one.service === service);
  if (listed === undefined && marks.length === 0) throw unknown(watermarks, service);
  const { atMs } = deed;
  const topics = [...new Set(marks.map(({ topic }) => topic))];
  const known = listed ?? { service, topics, release: 'unknown', atMs };
  return [
    { key: serviceKey(service), value: { ...known, retired: deed } },
    ...marks.map((mark) => ({ key: markKey(service, mark), value: undefined })),
  ];
}

/** It may be started again, from what is left of the log. Throws SERVICE_UNKNOWN. */
export function reinstate(watermarks: Known, service: string, deed: Deed): Entry[] {
  const listed = watermarks.listed().find((one) => one.service === service);
  if (listed?.retired === undefined) throw unknown(watermarks, service);
  const { retired: _retired, ...rest } = listed;
  return [{ key: serviceKey(service), value: { ...rest, reinstated: deed } }];
}

function unknown(watermarks: Known, service: string): LongreinError {
  const names = watermarks.listed().map((one) => one.service);
  const meant = nearest(service, names);
  const advice = meant === undefined ? '' : `did you mean ${meant}? `;
  return new LongreinError('SERVICE_UNKNOWN', `no service ${service} is listed for this`, {
    fix: `${advice}See them with: longrein services list`,
  });
}
