import type { SeenEvent } from '../../schemas/event.ts';
import {
  type AcceptanceState,
  accept,
  copyAcceptance,
} from '../../services/chassis/protocol/acceptance.ts';
import type { PlacedRecord } from '../../services/chassis/protocol/record.ts';
import {
  type CoreStep,
  foldCore,
  type Ignored,
  type SessionCore,
  unknownSession,
} from '../../services/chassis/protocol/session-core.ts';
import { restoredCore } from './restored-core.ts';
import { type SessionSource, type SourceRecord, sessionUnknown } from './source.ts';

/** One session with the rules of the log applied: which records count, and what they bring. */

/**
 * `void`: not accepted (an epoch or a number that is not current). `unreadable`: accepted, and nobody can read it.
 * `ignored`: accepted, and it brings nothing, for the reason given.
 */
export type Verdict = 'effective' | 'ignored' | 'void' | 'unreadable';

export type JudgedRecord = Readonly<{
  record: SourceRecord;
  verdict: Verdict;
  ignored?: Ignored;
  /** What a turn or an input brought; also where it is ignored. */
  step?: CoreStep;
}>;

export type JudgedSession = Readonly<{
  source: SessionSource;
  /** All records of the session, in the order of the log. */
  records: readonly JudgedRecord[];
  /** What every reader knows at the end. */
  core: SessionCore;
  /** What acceptance knows after the newest record. */
  acceptance: AcceptanceState;
  /** Records of other sessions that were read for acceptance. */
  others: number;
  /** The beginning is gone: judged from a checkpoint on, which knew all up to this offset. */
  restoredAt?: number;
}>;

/** A record that can be folded. */
export const isPlaced = (record: SourceRecord): record is PlacedRecord =>
  record.body !== undefined && record.body.kind === record.header.kind;

function judge(record: SourceRecord, accepted: boolean, core: SessionCore): JudgedRecord {
  if (!accepted) return { record, verdict: 'void', ignored: 'not-accepted' };
  if (!isPlaced(record)) return { record, verdict: 'unreadable' };
  if (record.header.kind === 'checkpoint') {
    if (core.status === 'open') return { record, verdict: 'effective' };
    return { record, verdict: 'ignored', ignored: 'closed' };
  }
  const step = foldCore(core, record);
  if (step.events.length > 0) return { record, verdict: 'effective', step };
  const ignored = step.ignored === undefined ? {} : { ignored: step.ignored };
  return { record, verdict: 'ignored', step, ...ignored };
}

type Read = Readonly<{ record: SourceRecord; accepted: boolean }>;

/** Judges records in order, from what is known before them. Those up to `after` are behind it. */
function judgeAll(read: readonly Read[], start: SessionCore, after = -1) {
  const records: JudgedRecord[] = [];
  let core = start;
  for (const { record, accepted } of read) {
    const isBehind = record.offset <= after && record.header.kind !== 'checkpoint';
    const judged: JudgedRecord = isBehind
      ? { record, verdict: 'ignored', ignored: 'unknown-session' }
      : judge(record, accepted, core);
    core = judged.step?.core ?? core;
    records.push(judged);
  }
  return { records, core };
}

/** Where the beginning is gone, from the first checkpoint on. */
function judgeRest(read: readonly Read[], whole: ReturnType<typeof judgeAll>) {
  if (whole.core.status !== 'unknown') return whole;
  const counting = read.filter(({ accepted, record }) => accepted && isPlaced(record));
  const known = restoredCore(counting.map(({ record }) => record));
  if (known === undefined) return whole;
  return { ...judgeAll(read, known.core, known.offset), restoredAt: known.offset };
}

/** Reads a session and judges each of its records. Throws LongreinError SESSION_UNKNOWN, and what the source throws. */
export async function judgeSession(source: SessionSource): Promise<JudgedSession> {
  const acceptance = copyAcceptance(source.acceptance);
  const read: Read[] = [];
  let others = 0;
  for await (const record of source.records()) {
    // A rehearsal has no owners: what it holds was decided to count when it was made.
    const accepted = accept(acceptance, record.header) || source.fork !== undefined;
    if (record.header.session === source.session) read.push({ record, accepted });
    else others += 1;
  }
  const judged = judgeRest(read, judgeAll(read, unknownSession(source.session)));
  if (read.length > 0) return { source, ...judged, acceptance, others };
  const fix = 'list sessions with `longrein session list`';
  throw sessionUnknown(source.session, source.origin, fix);
}

type After = Pick<JudgedSession, 'source' | 'core' | 'acceptance'>;

/** Judges one more record. `judged` is absent for a record of another session. */
export function judgeNext(
  after: After,
  record: SourceRecord,
): Pick<JudgedSession, 'core' | 'acceptance'> & Readonly<{ judged?: JudgedRecord }> {
  const acceptance = copyAcceptance(after.acceptance);
  const accepted = accept(acceptance, record.header);
  if (record.header.session !== after.source.session) return { core: after.core, acceptance };
  const judged = judge(record, accepted, after.core);
  return { judged, acceptance, core: judged.step?.core ?? after.core };
}

/** Every event that counts, in order. */
export const effectiveEvents = (session: JudgedSession): readonly SeenEvent[] =>
  session.records.flatMap(({ step }) => step?.events ?? []);
