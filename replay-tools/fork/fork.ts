import { LongreinError } from '../../services/chassis/errors.ts';
import { hashOf } from '../../services/chassis/protocol/hash.ts';
import { type Happening, History, textIn } from '../read/history.ts';
import { judgeSession } from '../read/session.ts';
import type { SessionSource, SourceRecord } from '../read/source.ts';
import { type Answerer, firstOf, recorded, serversAreWell } from './answers.ts';
import { recordedCalls } from './call-book.ts';
import { type Candidate, unchanged } from './candidate.ts';
import { type Played, PlayOn } from './play-on.ts';
import { type Followed, Rehearsal } from './rehearsal.ts';

/**
 * A fork: a session that shares the past of another one up to an event and goes on in memory, with a candidate, mocks,
 * and answers from the record. Nothing is written to a log, and nothing outside is asked.
 */

export type Fork = Readonly<{
  /** `ses_…`, derived from the parent, the event and the changes. */
  session: string;
  of: string;
  /** The first event that is decided again. */
  at: string;
  changes: readonly string[];
  followed: Followed;
  /** Absent where the paths never part. */
  played?: Played;
  /** The fork as a session: the shared past, what was followed, and what came instead. */
  source: SessionSource;
}>;

export type ForkOptions = Readonly<{ candidate?: Candidate; mocks?: Answerer }>;

const noDecision: ReadonlySet<string> = new Set([
  'session.closed',
  'delivery.acknowledged',
  'delivery.refused',
]);

const ends: ReadonlySet<string> = new Set([
  ...['session.completed', 'session.failed', 'session.cancelled'],
]);

/** What was delivered decides nothing any more once the session has its end; before that it is news like any other. */
function decidesNothing(history: History, at: Happening): boolean {
  const { type } = at.event;
  if (!noDecision.has(type)) return false;
  return (
    type === 'session.closed' ||
    history.before(at, ({ event }) => ends.has(event.type)) !== undefined
  );
}

/**
 * An event is a decision point where what comes after it is decided anew as a whole. Throws LongreinError
 * FORK_NO_DECISION.
 */
export function refuseNoPoint(history: History, at: Happening): void {
  const { event, offset, place } = at;
  const refuse = (message: string, fix: string): never => {
    throw new LongreinError('FORK_NO_DECISION', `${place} ${event.type} ${message}`, { fix });
  };
  if (history.shared.includes(at))
    refuse(
      'belongs to the past that it shares with another session',
      `fork that one: ${textIn({ event: history.entries[0]?.event ?? event }, 'of')} at ${place.slice(1)}`,
    );
  if (event.index > 0)
    refuse('is a part of a turn, which is decided as a whole', `fork at ${offset}.0`);
  if (decidesNothing(history, at)) {
    const earlier = history.before(at, (one) => !noDecision.has(one.event.type));
    const fix = earlier === undefined ? 'name an earlier event' : `fork at ${earlier.offset}.0`;
    refuse('decides nothing: the session was over', fix);
  }
}

function refuseTooLate(history: History, at: Happening, { tooLateAfter, says }: Candidate): void {
  for (const [type, why] of Object.entries(tooLateAfter)) {
    const settled = history.entries.find(({ event }) => event.type === type);
    if (settled === undefined || settled.offset >= at.offset) continue;
    const message = `${says.join(', ')} comes too late at ${at.place}: ${why} at ${settled.place}`;
    throw new LongreinError('FORK_TOO_LATE', message, {
      fix: `fork at ${settled.offset}.0 or before`,
    });
  }
}

/** The id of a fork follows from its making and from what came of it: the same fork has the same one. */
function forkId({ history, stage }: Rehearsal, at: string, says: readonly string[]): string {
  const made = stage.made.map(({ header }) => header.id);
  return `ses_${hashOf(['fork', history.session, at, ...says, ...made]).slice(0, 32)}`;
}

/** Past and future in one source. Acceptance was decided by the record; a rehearsal has no other owners. */
function sourceOf(rehearsal: Rehearsal, shared: number, mark: { session: string; at: string }) {
  const { judged, session: of } = rehearsal.history;
  const { session } = judged.source;
  const records: readonly SourceRecord[] = rehearsal.stage.records.map((record) => record);
  const { topic, partition } = judged.source;
  const source: SessionSource = {
    ...{ session, topic, partition, from: 0, acceptance: {}, whole: true },
    origin: `fork ${mark.session} of ${of} at ${mark.at}`,
    fork: { ...mark, of, shared },
    async *records() {
      yield* records;
    },
  };
  return source;
}

/**
 * Forks a session at an event and plays it on. Throws LongreinError FORK_NO_DECISION, FORK_TOO_LATE, AGENT_UNKNOWN.
 */
export function forkAt(history: History, at: Happening, options: ForkOptions = {}): Fork {
  const { candidate = unchanged, mocks } = options;
  refuseNoPoint(history, at);
  refuseTooLate(history, at, candidate);
  const rehearsal = new Rehearsal(history, at, options);
  const shared = rehearsal.stage.records.length;
  const followed = rehearsal.follow();
  const fromRecord = recorded(history, recordedCalls(history));
  const answerer = firstOf(...(mocks === undefined ? [] : [mocks]), fromRecord, serversAreWell);
  const played = followed.parts === undefined ? undefined : new PlayOn(rehearsal, answerer).run();
  const session = forkId(rehearsal, at.address, candidate.says);
  const changes = [...candidate.says, ...(mocks === undefined ? [] : ['mocks'])];
  return {
    ...{ session, of: history.session, at: at.place, changes, followed },
    ...(played === undefined ? {} : { played }),
    source: sourceOf(rehearsal, shared, { session, at: at.place }),
  };
}

/** The fork, read like every other session. */
export const historyOfFork = async ({ source }: Fork): Promise<History> =>
  new History(await judgeSession(source));
