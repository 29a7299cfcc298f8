import type { Membership } from '../log/port.ts';
import type { Partition } from './partition.ts';
import type { Watermark, Watermarks } from './watermarks.ts';

const isHeldElse = (mark: Watermark, last: Watermark): boolean =>
  mark.heldBy !== undefined && mark.heldBy !== last.heldBy;

/** Writes the watermarks of a host's partitions when they have moved. */
export class MarkWriter {
  /** By partition as it was opened: one that is opened again starts from what its topic says. */
  private readonly written = new WeakMap<Partition, Map<string, Watermark>>();
  private readonly watermarks: Watermarks;
  private last: Promise<void> = Promise.resolve();

  constructor(watermarks: Watermarks) {
    this.watermarks = watermarks;
  }

  /**
   * Group offsets follow, for tools that show lag; nothing is decided from them. One write at a time: a mark must not
   * overtake the closings that an earlier write holds.
   */
  write(partitions: readonly Partition[], membership: Membership | undefined): Promise<void> {
    const next = this.last.then(() => this.writeMoved(partitions, membership));
    this.last = next.catch(() => undefined);
    return next;
  }

  private async writeMoved(
    partitions: readonly Partition[],
    membership: Membership | undefined,
  ): Promise<void> {
    const news = partitions.flatMap((partition) =>
      partition
        .currentMarks()
        .filter((mark) => this.isNews(mark, partition))
        .map((mark) => ({ mark, partition })),
    );
    const moved = news.map(({ mark }) => mark);
    await this.writeWithSegments(partitions, moved);
    for (const { mark, partition } of news) this.writtenFor(partition).set(mark.service, mark);
    const offsets = moved.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
    if (offsets.length > 0) await membership?.commit(offsets);
  }

  /**
   * Never lower than what stands there, whoever wrote it: not lower than the mark that this host started from, in
   * particular. Who holds a mark that stands still is news too.
   */
  private isNews(mark: Watermark, partition: Partition): boolean {
    const known = this.watermarks.of(mark.service, mark);
    const written = this.writtenFor(partition).get(mark.service);
    const last = (written?.offset ?? -1) >= (known?.offset ?? 0) ? written : known;
    if (last === undefined) return mark.offset > 0;
    return mark.offset > last.offset || (mark.offset === last.offset && isHeldElse(mark, last));
  }

  private writtenFor(partition: Partition): Map<string, Watermark> {
    const known = this.written.get(partition) ?? new Map<string, Watermark>();
    this.written.set(partition, known);
    return known;
  }

  /** A segment that was not written must be written later: a mark may pass only closings that are remembered. */
  private async writeWithSegments(
    partitions: readonly Partition[],
    marks: readonly Watermark[],
  ): Promise<void> {
    const taken = partitions.map(({ closed }) => ({ closed, segments: closed.takeNew() }));
    try {
      await this.watermarks.write(
        marks,
        taken.flatMap(({ segments }) => segments),
      );
    } catch (thrown) {
      for (const { closed, segments } of taken) closed.giveBack(segments);
      throw thrown;
    }
  }
}
