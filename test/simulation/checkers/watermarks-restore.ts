import type { ClosedSessions } from '../../../services/chassis/host/closed-sessions.ts';
import { Partition } from '../../../services/chassis/host/partition.ts';
import type { PartitionParts } from '../../../services/chassis/host/partition-parts.ts';
import type { Trim } from '../../../services/chassis/host/watermark-records.ts';
import type { ClosedSegment, Watermark } from '../../../services/chassis/host/watermarks.ts';
import type { Codec } from '../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../services/chassis/log/port.ts';
import { canonical } from '../../../services/chassis/protocol/hash.ts';
import { keepingLogger, noTracer, seededRandom } from '../../support/quiet-ports.ts';
import { note } from '../world/coverage.ts';
import { diceOf } from '../world/dice.ts';
import { seenIn } from '../world/probe.ts';
import type { Run } from '../world/run.ts';
import { ownerStates } from './owner-states.ts';
import type { Violation } from './violation.ts';

const rule = 'watermarks never pass what a restore needs';

/** Watermarks and closed segments as a host would find them that started at this place of their topic. */
class MarksAt {
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
  return {
    ports,
    ...{ writer, presence, watermarks: marks, outlet: {} },
    identity: { incarnation: 'restored', host: 'restored', release: '' },
    services: services.map((name) => {
      const known = run.logics.get(name);
      if (known === undefined) throw new Error(`no service ${name}`);
      return known;
    }),
    reading: { pause: () => undefined, resume: () => undefined },
    onHalt: () => undefined,
  } as unknown as PartitionParts;
}

async function restored(run: Run, marks: MarksAt, at: Watermark, high: number) {
  const { topic, partition: index } = at;
  const records = run.logs.get(`${topic}/${index}`) ?? [];
  // Other services of the same host start at marks of their own.
  const others = [...run.logics.keys()].filter((name) => marks.of(name, at) !== undefined);
  const dice = diceOf('restore', run.schedule.seed, at.service, at.offset);
  const more = others.filter((name) => name !== at.service && dice.chance(0.3));
  const parts = deadParts(run, marks, [at.service, ...more]);
  const partition = new Partition({ topic, partition: index }, parts, { low: 0, high });
  const from = partition.position;
  partition.take(records.slice(from, high));
  partition.claimWhenReady();
  for (let waits = 0; !partition.caughtUp && waits < 1_000; waits++)
    await new Promise((resolve) => setImmediate(resolve));
  return { seen: seenIn(partition), closed: partition.closed };
}

/** Sessions that closed below this offset, of which the partition knows nothing. */
function forgotten(run: Run, at: Watermark, to: number, closed: ClosedSessions): string[] {
  return [...run.history.sessions.values()]
    .filter(({ topic, partition }) => topic === at.topic && partition === at.partition)
    .filter(({ lines, core }) => {
      const closing = lines.find((line) => line.step.core.status === 'closed');
      return core.status === 'closed' && closing !== undefined && closing.offset < to;
    })
    .map(({ session }) => session)
    .filter((session) => !closed.closedBefore(session, to));
}

/** Nobody starts before what was there when the mark was written: its writer had read that far. */
function readBefore(run: Run, { topic, partition }: Watermark, mark: LogRecord): number {
  const records = run.logs.get(`${topic}/${partition}`) ?? [];
  return records.filter(({ timestampMs }) => timestampMs <= mark.timestampMs).length;
}

/**
 * Starts partitions of hosts from marks that were written during the run, and reads to the end: what
 * they hold must equal the fold from the start.
 */
export async function watermarksRestore(run: Run, countMax: number): Promise<Violation[]> {
  const marks = new MarksAt(run.codec);
  const dice = diceOf('marks', run.schedule.seed);
  const found: Violation[] = [];
  const share = Math.min(1, countMax / Math.max(1, run.watermarks.length));
  for (const record of run.watermarks) {
    marks.take(record);
    const mark = record.key.startsWith('mark/') ? marks.marks.get(record.key) : undefined;
    // The event store keeps marks of what it stores beside those of its own logs.
    if (!run.logics.get(mark?.service ?? '')?.topics.includes(mark?.topic ?? '')) continue;
    if (mark === undefined || !dice.chance(share)) continue;
    const high = run.logs.get(`${mark.topic}/${mark.partition}`)?.length ?? 0;
    const to = dice.chance(0.5) ? high : dice.between(readBefore(run, mark, record), high);
    const { seen, closed } = await restored(run, marks, mark, to);
    if (seen === undefined) {
      found.push({ rule, detail: `${record.key}@${mark.offset}: the partition did not catch up` });
      continue;
    }
    note(run.coverage, 'restored from a watermark');
    for (const session of forgotten(run, mark, to, closed))
      found.push({
        rule,
        detail: `${record.key}@${mark.offset} read to ${to}: ${session} closed and is forgotten`,
      });
    const wrong = ownerStates({
      ...run,
      seen: [{ ...seen, host: `restored from ${canonical(mark).slice(0, 90)}` }],
    });
    found.push(...wrong.map(({ detail }) => ({ rule, detail })));
  }
  return found;
}
