import { Partition } from '../../../services/chassis/host/partition.ts';
import type { PartitionParts } from '../../../services/chassis/host/partition-parts.ts';
import type { Trim } from '../../../services/chassis/host/watermark-records.ts';
import type { ClosedSegment, Watermark } from '../../../services/chassis/host/watermarks.ts';
import type { Codec } from '../../../services/chassis/log/codec.ts';
import type { Bounds, LogRecord, PartitionName } from '../../../services/chassis/log/port.ts';
import { keepingLogger, noTracer, seededRandom } from '../../support/quiet-ports.ts';
import { seenIn } from '../world/probe.ts';
import type { Run } from '../world/run-outcome.ts';

/** Watermarks and closed segments as a host would find them that started at this place of their topic. */
export class MarksAt {
  readonly marks = new Map<string, Watermark>();
  readonly #segments = new Map<string, ClosedSegment>();
  readonly #trims = new Map<string, Trim>();
  readonly #codec: Codec;

  constructor(codec: Codec) {
    this.#codec = codec;
  }

  take({ key, value }: LogRecord): void {
    if (value === null) {
      for (const kept of [this.marks, this.#segments, this.#trims]) kept.delete(key);
      return;
    }
    const { body } = this.#codec.decode(value);
    if (key.startsWith('mark/')) this.marks.set(key, body as Watermark);
    if (key.startsWith('closed/')) this.#segments.set(key, body as ClosedSegment);
    if (key.startsWith('trim/')) this.#trims.set(key, body as Trim);
  }

  of(service: string, at: { topic: string; partition: number }): Watermark | undefined {
    return this.marks.get(`mark/${service}/${at.topic}/${at.partition}`);
  }

  trimAt(at: { topic: string; partition: number }): Trim | undefined {
    const own = [...this.#trims.values()].filter(
      (one) => one.topic === at.topic && one.partition === at.partition,
    );
    return own.sort((a, b) => b.offset - a.offset)[0];
  }

  closedAt(at: { topic: string; partition: number }): readonly ClosedSegment[] {
    return [...this.#segments.values()].filter(
      (one) => one.topic === at.topic && one.partition === at.partition,
    );
  }
}

/** What a partition of a host is made of, cut off from the world: it reads, and writes nothing. */
function deadParts(run: Run, marks: MarksAt, services: readonly string[]): PartitionParts {
  const clock = { nowMs: () => 0, after: () => () => undefined };
  const ports = {
    ...{
      clock,
      codec: run.codec,
      blobs: run.blobs,
      tracer: noTracer,
      logger: keepingLogger(),
    },
    random: seededRandom(1),
  };
  const writer = { push: () => undefined, pushPlain: () => undefined, busy: false };
  const presence = { isGone: () => false, markMs: () => 0, unlistedMs: () => 0 };
  // Nothing is counted of what is only read again.
  const nothing = (): undefined => undefined;
  const watch = { begin: nothing, owned: nothing, saw: nothing, noteOf: nothing };
  return {
    ports,
    ...{ writer, presence, watch, watermarks: marks, outlet: {} },
    identity: { incarnation: 'restored', host: 'restored', release: '' },
    services: services.map((name) => {
      const known = run.logics.get(name);
      if (known === undefined) throw new Error(`no service ${name}`);
      return known;
    }),
    reading: { pause: () => undefined, resume: () => undefined },
    watch: { begin: () => undefined, owned: () => undefined, saw: () => undefined },
    onHalt: () => undefined,
  } as unknown as PartitionParts;
}

/** What is started, and from what. */
export type Restore = Readonly<{ at: PartitionName; services: readonly string[]; bounds: Bounds }>;

/**
 * Starts a partition of a host with these services from the marks, and reads to the high offset. Throws what the host would
 * say where the log does not hold what it needs.
 */
export async function restored(run: Run, marks: MarksAt, { at, services, bounds }: Restore) {
  const { topic, partition: index } = at;
  const records = run.logs.get(`${topic}/${index}`) ?? [];
  const partition = new Partition(
    { topic, partition: index },
    deadParts(run, marks, services),
    bounds,
  );
  partition.take(records.slice(partition.position, bounds.high));
  partition.claimWhenReady();
  for (let waits = 0; !partition.caughtUp && waits < 1_000; waits++)
    await new Promise((resolve) => setImmediate(resolve));
  return { seen: seenIn(partition), closed: partition.closed };
}
