import { LongreinError } from '../../services/chassis/errors.ts';
import type { AcceptanceState } from '../../services/chassis/protocol/acceptance.ts';
import type { RecordBody, RecordHeader } from '../../services/chassis/protocol/record.ts';

/**
 * What every tool of this folder reads from, wherever it lies: one session of one partition.
 *
 * S1 Records come in the order of the log: all of the session, and of other sessions those that acceptance counts
 *    (turns, checkpoints, epochs), these by header only.
 * S2 A body is missing where the record is not of the session, or where nobody can read its bytes.
 * S3 Contents are filled; one whose blob is nowhere has no body.
 */
export type SessionSource = Readonly<{
  session: string;
  topic: string;
  partition: number;
  /** Where it is read from, for people: `kafka longrein.sessions.normal/3`, a file's path. */
  origin: string;
  /** Offset of the first record that there is, and the acceptance state before it. */
  from: number;
  acceptance: AcceptanceState;
  /** False where the log may go on below `from` and nobody knows the acceptance state there. */
  whole: boolean;
  /** Release of the program that wrote the records down, where it is not the log itself. */
  release?: string;
  /** Names and texts were replaced: decisions cannot be computed again. */
  anonymised?: true;
  /** A rehearsal in memory that shares the first records with another session, by whose id its records go. */
  fork?: Readonly<{ session: string; of: string; at: string; shared: number }>;
  /** Reads them from the start; can be called again. */
  records(): AsyncIterable<SourceRecord>;
  /** What comes after those, as it comes; never ends. Absent where nothing comes. */
  later?(): AsyncIterable<SourceRecord>;
}>;

/** A record at its place; see S2 for `body`. */
export type SourceRecord = Readonly<{ offset: number; header: RecordHeader; body?: RecordBody }>;

/** A header with nothing but what acceptance looks at. */
export function acceptanceHeader(
  given: Pick<RecordHeader, 'kind' | 'id' | 'service' | 'services' | 'epoch' | 'incarnation'> &
    Pick<RecordHeader, 'sequence'>,
): RecordHeader {
  return {
    ...given,
    session: '',
    base: '',
    baseOffset: -1,
    foreseen: [],
    batch: '',
    batchIndex: -1,
    cursorOffset: -1,
    fold: -1,
    types: [],
    behaviour: -1,
    atMs: 0,
    traceparent: '',
  };
}

/** Whether a record must be in a source: see S1. */
export const isNeeded = (header: RecordHeader, session: string): boolean =>
  header.session === session || header.kind !== 'input';

/** Error for a session that is not where it was looked for. `where` completes "there is no session … in". */
export function sessionUnknown(session: string, where: string, fix: string): LongreinError {
  const message = `there is no session ${session} in ${where}`;
  return new LongreinError('SESSION_UNKNOWN', message, { fix });
}
