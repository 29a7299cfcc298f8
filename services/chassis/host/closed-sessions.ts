import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { PartitionName } from '../log/port.ts';
import type { ClosedSegment } from './watermark-records.ts';

const hourMs = 3_600_000;
const horizonHours = limits.dedupeHorizonMs / hourMs;

/**
 * Ids of closed sessions of one partition, for the dedupe horizon of the log's own time (DESIGN 3.8). Memory grows with
 * the sessions that close within the horizon: one entry of a map each, whatever the number of segments.
 */
export class ClosedSessions {
  /** Session -> offset of its closing. */
  private readonly closings = new Map<string, number>();
  private readonly hours = new Map<number, string[]>();
  /** What stands in no written segment yet, by hour. */
  private unwritten = new Map<number, Record<string, number>>();
  private readonly partition: PartitionName;

  constructor(partition: PartitionName, known: readonly ClosedSegment[]) {
    this.partition = partition;
    for (const { hour, sessions } of known) {
      for (const [session, offset] of Object.entries(sessions)) this.keep(session, hour, offset);
    }
  }

  add(session: string, at: { offset: number; atMs: number }): void {
    if (this.has(session)) return;
    const hour = Math.floor(at.atMs / hourMs);
    this.keep(session, hour, at.offset);
    const due = this.unwritten.get(hour) ?? {};
    due[session] = at.offset;
    this.unwritten.set(hour, due);
    this.forgetBefore(hour - horizonHours);
  }

  private keep(session: string, hour: number, offset: number): void {
    if (this.closings.has(session)) return;
    this.closings.set(session, offset);
    const sessions = this.hours.get(hour);
    if (sessions === undefined) this.hours.set(hour, [session]);
    else sessions.push(session);
  }

  /** Whether the session is known to have closed, at whatever place of the log. */
  has(session: string): boolean {
    return this.closings.has(session) && !ablated('8b');
  }

  get size(): number {
    return this.closings.size;
  }

  /** Whether the session was closed before this offset. */
  closedBefore(session: string, offset: number): boolean {
    if (ablated('8b')) return false;
    const closing = this.closings.get(session);
    return closing !== undefined && closing < offset;
  }

  /** What closed since it was last asked, hour by hour. Who cannot write these segments gives them back. */
  takeNew(): readonly ClosedSegment[] {
    const { topic, partition } = this.partition;
    const segments = [...this.unwritten].flatMap(([hour, sessions]) =>
      partsOf(sessions).map((part) => ({ topic, partition, hour, sessions: part })),
    );
    this.unwritten = new Map();
    return segments;
  }

  /** These segments were not written: they are due again. */
  giveBack(segments: readonly ClosedSegment[]): void {
    const later = this.unwritten;
    this.unwritten = new Map();
    for (const { hour, sessions } of segments)
      this.unwritten.set(hour, { ...this.unwritten.get(hour), ...sessions });
    for (const [hour, sessions] of later)
      this.unwritten.set(hour, { ...this.unwritten.get(hour), ...sessions });
  }

  private forgetBefore(hour: number): void {
    for (const [known, sessions] of this.hours) {
      if (known >= hour) continue;
      for (const session of sessions) this.closings.delete(session);
      this.hours.delete(known);
    }
  }
}

/** In the same order, none larger than a record can hold. */
export function partsOf(sessions: Readonly<Record<string, number>>): Record<string, number>[] {
  const entries = Object.entries(sessions);
  const parts: Record<string, number>[] = [];
  for (let from = 0; from < entries.length; from += limits.closedSegmentSessionsMax)
    parts.push(Object.fromEntries(entries.slice(from, from + limits.closedSegmentSessionsMax)));
  return parts;
}
