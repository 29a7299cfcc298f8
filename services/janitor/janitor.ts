import { limits } from '../../schemas/limits.ts';
import { topics } from '../../schemas/topics.ts';
import { LongreinError, toError } from '../chassis/errors.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import { stalledMarks } from '../chassis/host/stalled-marks.ts';
import { requireSameTopic } from '../chassis/host/topic-identity.ts';
import {
  type ClosedSegment,
  type Place,
  placeKey,
  trimKey,
} from '../chassis/host/watermark-records.ts';
import type { Entry, Watermarks } from '../chassis/host/watermarks.ts';
import type { Bounds, PartitionName } from '../chassis/log/port.ts';
import { type PartitionView, placeDue, planTrim, type TrimPlan } from './decide.ts';
import { mergedSegments } from './segments.ts';

export type JanitorParts = Readonly<{
  ports: Pick<HostPorts, 'log' | 'clock' | 'logger'>;
  watermarks: Watermarks;
  /** Topics that it looks after, as they are now; the first generation of each if not given. */
  topics?(): readonly string[];
  /** Records younger than this stay, in milliseconds. */
  retentionMs: number;
}>;

/** Topics that nothing else deletes from. */
export const trimmedTopics: readonly string[] = topics
  .filter(({ kind }) => kind === 'session-log')
  .map(({ name }) => name);

/** So many places lie within the retention time: what is deleted at once is at most this part of it. */
const placesPerRetention = 24;
/** Segments of closed sessions of the newest hours are still written to. */
const openHours = 2;
const segmentsMany = 8;

/**
 * Deletes what nobody needs from session logs (DESIGN 3.11). Any number may run at once, over the same partitions or
 * not: that costs requests and nothing else.
 */
export class Janitor {
  private readonly parts: JanitorParts;
  private readonly toldStalled = new Map<string, number>();

  constructor(parts: JanitorParts) {
    this.parts = parts;
  }

  /** One round over these partitions, or over all; one that cannot be looked after does not keep the others. */
  async run(partitions?: readonly PartitionName[]): Promise<void> {
    await this.parts.watermarks.current();
    for (const topic of this.parts.topics?.() ?? trimmedTopics) {
      const own = partitions?.filter((one) => one.topic === topic);
      if (own !== undefined && own.length === 0) continue;
      await this.attempt({ topic }, () => this.runTopic(topic, own));
    }
  }

  private async runTopic(topic: string, own: readonly PartitionName[] | undefined): Promise<void> {
    const { log } = this.parts.ports;
    await requireSameTopic(this.parts.ports.log, this.parts.watermarks, topic);
    for (const [partition, bounds] of await log.bounds(topic)) {
      if (own?.some((one) => one.partition === partition) === false) continue;
      const name = { topic, partition };
      await this.attempt(name, () => this.look(name, bounds));
    }
  }

  private async attempt(what: object, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      const error = toError(thrown);
      const known = error instanceof LongreinError ? { code: error.code, fix: error.fix } : {};
      this.parts.ports.logger.warn(
        { ...what, ...known, error: error.message },
        'nothing is deleted here for now',
      );
    }
  }

  private async look(name: PartitionName, bounds: Bounds): Promise<void> {
    this.alarm(name, bounds);
    const { watermarks, ports } = this.parts;
    const view = this.viewOf(name, bounds);
    const due = view.places.length > 0 || placeDue(view) !== undefined;
    const beforeMs = view.nowMs - this.parts.retentionMs;
    const oldBelow = due ? await ports.log.offsetAt(name, beforeMs) : 0;
    const plan = planTrim(view, oldBelow);
    await watermarks.put([...entriesOf(plan), ...this.merged(name)]);
    if (plan.deleteBelow === undefined) return;
    await ports.log.trim(name, plan.deleteBelow);
    const fields = { ...name, from: bounds.low, below: plan.deleteBelow };
    ports.logger.info(fields, 'records deleted that nobody needs any more');
  }

  private viewOf(name: PartitionName, bounds: Bounds): PartitionView {
    const { watermarks, ports, retentionMs } = this.parts;
    return {
      ...{ name, bounds, nowMs: ports.clock.nowMs() },
      marks: watermarks.at(name),
      services: watermarks.listed(),
      places: watermarks.placesAt(name),
      trims: watermarks.trimsAt(name),
      spacingMs: retentionMs / placesPerRetention,
    };
  }

  private merged(name: PartitionName): Entry[] {
    const { watermarks } = this.parts;
    if (watermarks.closedKeysAt(name).length < segmentsMany) return [];
    const keyed = watermarks
      .closedKeysAt(name)
      .flatMap((key): (readonly [string, ClosedSegment])[] => {
        const segment = watermarks.closedSegment(key);
        return segment === undefined ? [] : [[key, segment]];
      });
    return mergedSegments(keyed, openHours);
  }

  /** Says of each mark that stands still that it does, again after each further stretch of time. */
  private alarm(name: PartitionName, bounds: Bounds): void {
    const { watermarks, ports } = this.parts;
    const nowMs = ports.clock.nowMs();
    for (const stalled of stalledMarks(watermarks, { name, bounds, nowMs })) {
      const key = `${stalled.service}/${name.topic}/${name.partition}@${stalled.offset}`;
      const toldMs = this.toldStalled.get(key);
      if (toldMs !== undefined && nowMs - toldMs < 12 * limits.watermarkStalledMs) continue;
      this.toldStalled.set(key, nowMs);
      const { message, ...fields } = stalled;
      ports.logger.error(
        { code: 'WATERMARK_STALLED', ...fields, error: message },
        'watermark stands still',
      );
    }
  }
}

const taken = (keyOf: (place: Place) => string, places: readonly Place[]): Entry[] =>
  places.map((place) => ({ key: keyOf(place), value: undefined }));

/** The trim stands in the log before what it makes needless is taken off. */
function entriesOf({ place, trim, passedPlaces, passedTrims }: TrimPlan): Entry[] {
  return [
    ...(trim === undefined ? [] : [{ key: trimKey(trim), value: trim }]),
    ...(place === undefined ? [] : [{ key: placeKey(place), value: place }]),
    ...taken(placeKey, passedPlaces),
    ...taken(trimKey, passedTrims),
  ];
}
