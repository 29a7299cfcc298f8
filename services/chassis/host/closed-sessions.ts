import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { PartitionName } from '../log/port.ts';
import type { ClosedSegment } from './watermarks.ts';

const hourMs = 3_600_000;

type Sessions = Record<string, number>;

/** Ids of closed sessions of one partition, for the dedupe horizon of the log's own time (DESIGN 3.8). */
export class ClosedSessions {
  private readonly segments = new Map<number, Sessions>();
  /** What stands in no written segment yet. */
  private unwritten = new Map<number, Sessions>();
  private readonly partition: PartitionName;

  constructor(partition: PartitionName, known: readonly ClosedSegment[]) {
    this.partition = partition;
    for (const { hour, sessions } of known)
      this.segments.set(hour, { ...this.segments.get(hour), ...sessions });
  }

  add(session: string, at: { offset: number; atMs: number }): void {
    if (this.has(session)) return;
    const hour = Math.floor(at.atMs / hourMs);
    for (const map of [this.segments, this.unwritten]) {
      const sessions = map.get(hour) ?? {};
      sessions[session] = at.offset;
      map.set(hour, sessions);
    }
    this.forgetBefore(hour - limits.dedupeHorizonMs / hourMs);
  }

  /** Whether the session is known to have closed, at whatever place of the log. */
  has(session: string): boolean {
    return this.closingOf(session) !== undefined;
  }

  /** Whether the session was closed before this offset. */
  closedBefore(session: string, offset: number): boolean {
    const closing = this.closingOf(session);
    return closing !== undefined && closing < offset;
  }

  private closingOf(session: string): number | undefined {
    if (ablated('8b')) return undefined;
    for (const sessions of this.segments.values()) {
      const closing = sessions[session];
      if (closing !== undefined) return closing;
    }
    return undefined;
  }

  /** What closed since it was last asked, hour by hour. Who cannot write these segments gives them back. */
  takeNew(): readonly ClosedSegment[] {
    const { topic, partition } = this.partition;
    const segments = [...this.unwritten].map(([hour, sessions]) => ({
      ...{ topic, partition, hour, sessions },
    }));
    this.unwritten = new Map();
    return segments;
  }

  /** These segments were not written: they are due again. */
  giveBack(segments: readonly ClosedSegment[]): void {
    for (const { hour, sessions } of segments)
      this.unwritten.set(hour, { ...sessions, ...this.unwritten.get(hour) });
  }

  private forgetBefore(hour: number): void {
    for (const known of this.segments.keys()) {
      if (known < hour) this.segments.delete(known);
    }
  }
}
