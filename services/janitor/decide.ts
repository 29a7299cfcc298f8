import { firstGeneration } from '../../schemas/topics.ts';
import type { ListedService, Place, Trim, Watermark } from '../chassis/host/watermark-records.ts';
import type { Bounds, PartitionName } from '../chassis/log/port.ts';

/**
 * What may be deleted from one partition (DESIGN 3.11). Pure.
 *
 * J1 Only below every watermark of every service that holds the partition, and older than the retention time.
 * J2 The trim, with the acceptance state at its place, is in the log before anything is deleted.
 * J3 Trims only grow. Two janitors at once write the same trims or lower ones, which nobody looks at.
 *
 * The acceptance state is known where watermarks stand, and they stand near the end of the log, while a trim is as old
 * as the retention time: a place is noted now and then, and becomes a trim when all below it is old enough.
 */
export type PartitionView = Readonly<{
  name: PartitionName;
  bounds: Bounds;
  /** Watermarks of the partition, whoever wrote them. */
  marks: readonly Watermark[];
  services: readonly ListedService[];
  places: readonly Place[];
  trims: readonly Trim[];
  nowMs: number;
  /** Places are so far apart, in milliseconds. */
  spacingMs: number;
}>;

export type TrimPlan = Readonly<{
  /** To be noted, or undefined. */
  place: Place | undefined;
  /** To be written before anything is deleted, or undefined. */
  trim: Trim | undefined;
  /** Delete below this offset once the trim is in the log; undefined: nothing to delete. */
  deleteBelow: number | undefined;
  /** Places and trims that nobody needs any more. */
  passedPlaces: readonly Place[];
  passedTrims: readonly Trim[];
}>;

/** Services that hold the partition: those that are listed for its topic, and whoever has a mark there; none retired. */
export function holdersOf(view: Pick<PartitionView, 'name' | 'marks' | 'services'>): string[] {
  // A service works on all generations of its lanes.
  const topic = firstGeneration(view.name.topic);
  const listed = view.services.filter(({ topics }) => topics.includes(topic));
  const retired = new Set(view.services.filter((one) => one.retired).map((one) => one.service));
  const all = [...listed, ...view.marks].map(({ service }) => service);
  return [...new Set(all)].filter((service) => !retired.has(service)).sort();
}

/** The lowest watermark; undefined where a service has none yet, or where nobody holds the partition. */
export function floorOf(view: PartitionView): Watermark | undefined {
  let floor: Watermark | undefined;
  for (const service of holdersOf(view)) {
    const mark = view.marks.find((one) => one.service === service);
    if (mark === undefined) return undefined;
    if (floor === undefined || mark.offset < floor.offset) floor = mark;
  }
  return floor;
}

/** The place to be noted now. */
export function placeDue(view: PartitionView): Place | undefined {
  const floor = floorOf(view);
  if (floor === undefined || floor.offset > view.bounds.high) return undefined;
  const last = view.places.at(-1);
  const known = Math.max(view.bounds.low, last?.offset ?? 0, view.trims.at(-1)?.offset ?? 0);
  if (floor.offset <= known) return undefined;
  if (last !== undefined && view.nowMs - last.atMs < view.spacingMs) return undefined;
  const { offset, acceptance } = floor;
  return { ...view.name, offset, acceptance, atMs: view.nowMs };
}

/** `oldBelow`: all records below this offset are older than the retention time. */
export function planTrim(view: PartitionView, oldBelow: number): TrimPlan {
  const place = placeDue(view);
  const floor = floorOf(view)?.offset ?? 0;
  const current = view.trims.at(-1);
  const places = place === undefined ? view.places : [...view.places, place];
  const best = places.findLast(({ offset }) => offset <= Math.min(floor, oldBelow));
  const grows = best !== undefined && best.offset > (current?.offset ?? view.bounds.low);
  const trim = grows ? { ...best, atMs: view.nowMs } : undefined;
  const low = trim ?? current;
  return {
    place: place !== undefined && place !== best ? place : undefined,
    trim,
    deleteBelow: deletable(view, low),
    passedPlaces: view.places.filter(({ offset }) => offset <= (low?.offset ?? -1)),
    passedTrims: view.trims.filter(({ offset }) => offset < (low?.offset ?? -1)),
  };
}

/** A trim is written before its records are deleted, maybe by a janitor that died in between. */
function deletable({ bounds }: PartitionView, trim: Trim | undefined): number | undefined {
  if (trim === undefined || trim.offset <= bounds.low || trim.offset > bounds.high)
    return undefined;
  return trim.offset;
}
