import { toError } from '../chassis/errors.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import type { AcceptanceState } from '../chassis/protocol/acceptance.ts';
import type { ReadyRecord } from './ready-rows.ts';

/**
 * Sessions that failed in a range. What is kept of them is kept before the range counts as stored: who dies in between
 * leaves the range to the next, which finds them again.
 */

export type FailedSession = Readonly<{
  session: string;
  topic: string;
  partition: number;
  /** Where `session.failed` stands. */
  offset: number;
  index: number;
  /** A place from which the whole session can be read, and who owned what there. */
  from: Readonly<{ offset: number; acceptance: AcceptanceState }>;
}>;

/** Keeps what people will want to see first. Asked again for the same failure it changes nothing. */
export type KeepFailed = (failed: FailedSession) => Promise<void>;

type Place = Readonly<{ topic: string; partition: number }>;

/** What failed in these records. `placeOf` names a place from which a session that needs this offset can be read. */
export function failedIn(
  at: Place,
  records: readonly ReadyRecord[],
  placeOf: (offset: number) => FailedSession['from'],
): readonly FailedSession[] {
  return records.flatMap(({ log, header, judgement, needFrom }) => {
    const index = header?.kind === 'turn' ? header.types.indexOf('session.failed') : -1;
    if (header === undefined || index < 0 || index >= judgement.effectiveEvents) return [];
    const { session } = header;
    return [{ ...at, session, offset: log.offset, index, from: placeOf(needFrom) }];
  });
}

const attemptsMax = 3;
const retryMs = 1_000;

/** Keeps them all. What cannot be kept is told and left out: rows of others must not wait for it, and it can be made by hand. */
export async function keepAll(
  { clock, logger }: Pick<HostPorts, 'clock' | 'logger'>,
  keep: KeepFailed | undefined,
  failed: readonly FailedSession[],
): Promise<void> {
  for (const one of keep === undefined ? [] : failed)
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1)
      try {
        await keep?.(one);
        break;
      } catch (thrown) {
        const { session } = one;
        const fix = `see it with: longrein replay context ${session}`;
        const fields = { session, attempt, error: toError(thrown).message, fix };
        if (attempt === attemptsMax) logger.error(fields, 'context of a failed session not kept');
        else await new Promise<void>((resolve) => void clock.after(retryMs, resolve));
      }
}
