import { limits } from '../../../schemas/limits.ts';
import type { PartitionName } from '../log/port.ts';
import type { ClosedSegment } from './watermarks.ts';

const hourMs = 3_600_000;

/** Ids of closed sessions of one partition, for the dedupe horizon of the log's own time (DESIGN 3.8). */
export class ClosedSessions {
  private readonly segments = new Map<number, Record<string, number>>();
  private readonly changed = new Set<number>();
  private readonly partition: PartitionName;

  constructor(partition: PartitionName, known: readonly ClosedSegment[]) {
    this.partition = partition;
    for (const segment of known) this.segments.set(segment.hour, { ...segment.sessions });
  }

  add(session: string, at: { offset: number; atMs: number }): void {
    const hour = Math.floor(at.atMs / hourMs);
    const sessions = this.segments.get(hour) ?? {};
    if (sessions[session] !== undefined) return;
    sessions[session] = at.offset;
    this.segments.set(hour, sessions);
    this.changed.add(hour);
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
    for (const sessions of this.segments.values()) {
      const closing = sessions[session];
      if (closing !== undefined) return closing;
    }
    return undefined;
  }

  /** Segments that changed since they were last taken. Who cannot write them gives them back. */
  takeChanged(): readonly ClosedSegment[] {
    const { topic, partition } = this.partition;
    const segments = [...this.changed].map((hour) => {
      return { topic, partition, hour, sessions: { ...(this.segments.get(hour) ?? {}) } };
    });
    this.changed.clear();
    return segments;
  }

  /** These segments were not written: they are due again. */
  giveBack(segments: readonly ClosedSegment[]): void {
    for (const { hour } of segments) this.changed.add(hour);
  }

  private forgetBefore(hour: number): void {
    for (const known of this.segments.keys()) {
      if (known < hour) this.segments.delete(known);
    }
  }
}
