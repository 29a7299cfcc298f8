import { LongreinError } from '../errors.ts';
import type { PartitionName } from '../log/port.ts';
import { type AcceptanceState, copyAcceptance } from '../protocol/acceptance.ts';
import type { HostedService } from './ports.ts';
import type { Watermark, Watermarks } from './watermarks.ts';

export type StartPosition = Readonly<{
  offset: number;
  acceptance: AcceptanceState;
  /** Service -> its own mark: what is below is none of its business. */
  marks: ReadonlyMap<string, number>;
}>;

/**
 * Where a host starts reading a partition: the lowest mark of its services, with the acceptance state of that place.
 * Throws LongreinError POSITION_OUT_OF_RANGE where the log does not hold it (DESIGN 3.13): never reset silently.
 */
export function startOf(
  parts: { services: readonly HostedService[]; watermarks: Watermarks },
  name: PartitionName,
  bounds: { low: number; high: number },
): StartPosition {
  const marks = new Map<string, number>();
  let first: Watermark | undefined;
  let unmarked = false;
  for (const { logic } of parts.services) {
    const mark = parts.watermarks.of(logic.name, name);
    marks.set(logic.name, mark?.offset ?? bounds.low);
    if (mark === undefined) unmarked = true;
    else if (first === undefined || mark.offset < first.offset) first = mark;
  }
  if (unmarked || first === undefined) return { offset: bounds.low, acceptance: {}, marks };
  if (first.offset >= bounds.low && first.offset <= bounds.high) {
    return { offset: first.offset, acceptance: copyAcceptance(first.acceptance), marks };
  }
  throw new LongreinError(
    'POSITION_OUT_OF_RANGE',
    `${name.topic}/${name.partition}: the watermark ${first.offset} is outside the log [${bounds.low}, ${bounds.high}]`,
    { fix: 'the topic was truncated, deleted or made again; see `longrein doctor`' },
  );
}
