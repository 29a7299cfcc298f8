import { partsOf } from '../chassis/host/closed-sessions.ts';
import { type ClosedSegment, closedKey, hourOf } from '../chassis/host/watermark-records.ts';
import type { Entry } from '../chassis/host/watermarks.ts';
import { canonical, sha256 } from '../chassis/protocol/hash.ts';

/**
 * Segments of closed sessions, merged. A host writes one at every look at its sessions, and every start reads all of
 * them: hours that are over are brought into as few records as hold them.
 *
 * What is merged is named by its contents: a janitor that has read less writes another key and takes nothing away that
 * it does not hold.
 */
export function mergedSegments(
  segments: readonly (readonly [string, ClosedSegment])[],
  keepHours: number,
): Entry[] {
  const byHour = new Map<number, (readonly [string, ClosedSegment])[]>();
  for (const one of segments) {
    const hour = hourOf(one[0]);
    byHour.set(hour, [...(byHour.get(hour) ?? []), one]);
  }
  const newest = Math.max(...byHour.keys());
  return [...byHour].flatMap(([hour, parts]) =>
    hour <= newest - keepHours ? mergedHour(parts) : [],
  );
}

function mergedHour(parts: readonly (readonly [string, ClosedSegment])[]): Entry[] {
  const first = parts[0]?.[1];
  const sessions = Object.assign({}, ...parts.map(([, segment]) => segment.sessions));
  const merged = partsOf(sessions as Record<string, number>);
  if (first === undefined || merged.length >= parts.length) return [];
  const { topic, partition, hour } = first;
  const written = merged.map((part): Entry => {
    const value: ClosedSegment = { topic, partition, hour, sessions: part };
    return { key: `${closedKey(value)}-${sha256(canonical(part)).slice(0, 12)}`, value };
  });
  const kept = new Set(written.map(({ key }) => key));
  const gone = parts.map(([key]) => key).filter((key) => !kept.has(key));
  // What holds everything stands before what it replaces goes.
  return [...written, ...gone.map((key) => ({ key, value: undefined }))];
}
