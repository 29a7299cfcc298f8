import type { ClosedSessions } from '../../../services/chassis/host/closed-sessions.ts';
import type { Watermark } from '../../../services/chassis/host/watermarks.ts';
import type { LogRecord, PartitionName } from '../../../services/chassis/log/port.ts';
import { canonical } from '../../../services/chassis/protocol/hash.ts';
import { note } from '../world/coverage.ts';
import { diceOf } from '../world/dice.ts';
import type { Run } from '../world/run-outcome.ts';
import { ownerStates } from './owner-states.ts';
import { MarksAt, restored } from './restoring.ts';
import type { Violation } from './violation.ts';

const rule = 'watermarks never pass what a restore needs';

/** The service of a mark, and other services of the same host, which start at marks of their own. */
function together(run: Run, marks: MarksAt, at: Watermark): readonly string[] {
  const others = [...run.logics.keys()].filter((name) => marks.of(name, at) !== undefined);
  const dice = diceOf('restore', run.schedule.seed, at.service, at.offset);
  return [at.service, ...others.filter((name) => name !== at.service && dice.chance(0.3))];
}

/** Sessions that closed below this offset, of which the partition knows nothing. */
export function forgotten(
  run: Run,
  at: PartitionName,
  to: number,
  closed: ClosedSessions,
): string[] {
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
    const services = together(run, marks, mark);
    const bounds = { low: 0, high: to };
    const { seen, closed } = await restored(run, marks, { at: mark, services, bounds });
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
