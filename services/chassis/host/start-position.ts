import { LongreinError } from '../errors.ts';
import type { Bounds, PartitionName } from '../log/port.ts';
import { type AcceptanceState, copyAcceptance } from '../protocol/acceptance.ts';
import { resetCommand } from './mending.ts';
import type { HostedService } from './ports.ts';
import type { Place } from './watermark-records.ts';
import type { Watermarks } from './watermarks.ts';

export type StartPosition = Readonly<{
  offset: number;
  acceptance: AcceptanceState;
  /** Service -> where it starts: what is below is none of its business. */
  marks: ReadonlyMap<string, number>;
}>;

type Known = Pick<Place, 'offset' | 'acceptance'>;

/**
 * Where a host starts reading a partition: the lowest of max(watermark, trim) of its services, with the acceptance
 * state of that place (DESIGN 3.11). Throws LongreinError LOG_TRUNCATED or LOG_SHORTER where the log does not hold it
 * (DESIGN 3.13): never reset silently.
 */
export function startOf(
  parts: {
    services: readonly HostedService[];
    watermarks: Pick<Watermarks, 'of' | 'trimAt'>;
  },
  name: PartitionName,
  bounds: Bounds,
): StartPosition {
  const trim = parts.watermarks.trimAt(name);
  const marks = new Map<string, number>();
  let first: Known | undefined;
  for (const { logic } of parts.services) {
    const start = higher(parts.watermarks.of(logic.name, name), trim) ?? beginning(name, bounds);
    requireHeld(start, { name, bounds, service: logic.name });
    marks.set(logic.name, start.offset);
    if (first === undefined || start.offset < first.offset) first = start;
  }
  const { offset, acceptance } = first ?? { offset: bounds.low, acceptance: {} };
  return { offset, acceptance: copyAcceptance(acceptance), marks };
}

function higher(mark: Known | undefined, trim: Known | undefined): Known | undefined {
  if (mark === undefined || trim === undefined) return mark ?? trim;
  return trim.offset > mark.offset ? trim : mark;
}

/** Nobody ever wrote down a place of this partition: only its very beginning needs none. */
function beginning(name: PartitionName, { low }: Bounds): Known {
  if (low === 0) return { offset: 0, acceptance: {} };
  const what = `${where(name)} begins at ${low}, and no trim says what stood below`;
  throw new LongreinError('LOG_TRUNCATED', `${what}: somebody else deleted records`, {
    fix: `restore the topic from a replica or a backup; if what is gone may be lost: ${resetCommand(name)}`,
  });
}

function requireHeld(
  { offset }: Known,
  at: { name: PartitionName; bounds: Bounds; service: string },
): void {
  const { name, bounds, service } = at;
  if (offset >= bounds.low && offset <= bounds.high) return;
  const place = `${where(name)} is the log from ${bounds.low} to ${bounds.high}`;
  const lost = offset < bounds.low;
  const message = lost
    ? `${place}: the records from ${offset} on, which ${service} needs, were deleted by somebody else`
    : `${place}: ${service} has read up to ${offset}; the topic lost its end, or was made again`;
  throw new LongreinError(lost ? 'LOG_TRUNCATED' : 'LOG_SHORTER', message, {
    fix: `restore the topic from a replica or a backup; if what is gone may be lost: ${resetCommand(name)}`,
  });
}

const where = ({ topic, partition }: PartitionName): string => `${topic}/${partition}`;
