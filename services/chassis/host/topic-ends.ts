import { toError } from '../errors.ts';
import type { Bounds, PartitionName } from '../log/port.ts';
import type { HostPorts } from './ports.ts';

/** Each time one request for each topic. */
const lookMs = 10_000;

/** Where the partitions of some topics end, as the broker said lately: tells how far behind a reader is. */
export class TopicEnds {
  private readonly ports: Pick<HostPorts, 'log' | 'clock' | 'logger'>;
  private readonly topics: () => readonly string[];
  private readonly known = new Map<string, ReadonlyMap<number, Bounds>>();
  private cancel: (() => void) | undefined;
  private stopped = false;

  constructor(ports: Pick<HostPorts, 'log' | 'clock' | 'logger'>, topics: () => readonly string[]) {
    this.ports = ports;
    this.topics = topics;
  }

  /** Looks again and again until `stop`. */
  start(): void {
    void this.look().finally(() => {
      if (!this.stopped) this.cancel = this.ports.clock.after(lookMs, () => this.start());
    });
  }

  stop(): void {
    this.stopped = true;
    this.cancel?.();
  }

  /** Offset that the next record gets; undefined where the broker has not said yet. */
  endOf({ topic, partition }: PartitionName): number | undefined {
    return this.known.get(topic)?.get(partition)?.high;
  }

  /** Topic -> records from these places to its end. */
  behind(places: readonly (PartitionName & { offset: number })[]): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const place of places) {
      const lag = Math.max(0, (this.endOf(place) ?? place.offset) - place.offset);
      sums.set(place.topic, (sums.get(place.topic) ?? 0) + lag);
    }
    return sums;
  }

  private async look(): Promise<void> {
    for (const topic of this.topics()) {
      try {
        this.known.set(topic, await this.ports.log.bounds(topic));
      } catch (thrown) {
        // A broker that is away is told by who reads; what was known of the ends stays.
        const fields = { topic, error: toError(thrown).message };
        this.ports.logger.debug(fields, 'end of the topic not read; later');
      }
    }
  }
}
