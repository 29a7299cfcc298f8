import { limits } from '../../../schemas/limits.ts';
import { firstGeneration } from '../../../schemas/topics.ts';
import type { Bounds, PartitionName } from '../log/port.ts';
import { retireCommand } from './mending.ts';
import type { ListedService } from './watermark-records.ts';
import type { Watermarks } from './watermarks.ts';

/** A watermark that stands still while the log goes on. */
export type StalledMark = PartitionName &
  Readonly<{
    service: string;
    offset: number;
    /** Records from the mark to the end of the log. */
    behind: number;
    sinceMs: number;
    /** The session that holds it, where its owner said so. */
    session: string | undefined;
    message: string;
    fix: string;
  }>;

/** Marks of this partition that have stood still too long, too far behind (DESIGN 3.11). */
export function stalledMarks(
  watermarks: Pick<Watermarks, 'of' | 'listed' | 'standsSinceMs'>,
  at: { name: PartitionName; bounds: Bounds; nowMs: number },
): StalledMark[] {
  const { name, bounds, nowMs } = at;
  return watermarks.listed().flatMap((listed) => {
    if (listed.retired !== undefined || !listed.topics.includes(firstGeneration(name.topic)))
      return [];
    const mark = watermarks.of(listed.service, name);
    const offset = mark?.offset ?? bounds.low;
    const behind = bounds.high - offset;
    const sinceMs = watermarks.standsSinceMs(listed.service, name) ?? listed.atMs;
    const still = nowMs - sinceMs > limits.watermarkStalledMs;
    if (!still || behind <= (mark?.stretch ?? limits.carryForwardRecords)) return [];
    const told = { ...name, service: listed.service, offset, behind, sinceMs };
    return [{ ...told, session: mark?.heldBy, ...explained(listed, told, mark?.heldBy) }];
  });
}

function explained(
  { service }: ListedService,
  at: PartitionName & { offset: number; behind: number; sinceMs: number },
  session: string | undefined,
): { message: string; fix: string } {
  const { topic, partition, offset, behind } = at;
  const since = new Date(at.sinceMs).toISOString();
  const held = session === undefined ? '' : `, held by session ${session}`;
  const message = `the watermark of ${service} in ${topic}/${partition} has stood at ${offset} since ${since}, ${behind} records behind${held}: nothing above is deleted, and a start reads all of it`;
  const gone = `if ${service} is never to run again: ${retireCommand(service)}`;
  const fix =
    session === undefined
      ? `see that ${service} runs (longrein status); ${gone}`
      : `look at it with \`longrein session show ${session}\`, answer or cancel it; ${gone}`;
  return { message, fix };
}
