import { toError } from '../../services/chassis/errors.ts';
import { decideEntry } from '../../services/chassis/protocol/decision.ts';
import type { EventRecord } from '../../services/chassis/protocol/event-record.ts';
import { canonical, isSameJson } from '../../services/chassis/protocol/hash.ts';
import type { PlacedRecord, TurnBody } from '../../services/chassis/protocol/record.ts';
import { type Seal, saltOf, sealContent } from '../../services/chassis/protocol/seal.ts';
import {
  type Cause,
  type ServiceEntry,
  withCauses,
} from '../../services/chassis/protocol/service-fold.ts';
import { type AnyLogic, addressOf } from '../../services/chassis/protocol/service-logic.ts';
import { factsOf, turnBody, turnId } from '../../services/chassis/protocol/turn.ts';
import { contentsOf } from '../read/contents.ts';
import type { Answered } from './answered.ts';
import { changesOf } from './changes.ts';
import { differenceAt } from './integrity.ts';
import type { Difference } from './report.ts';
import type { ServiceLines } from './service-lines.ts';

/** Decides one turn again from what it says it was decided from, and compares. */

export type TurnToCheck = Readonly<{
  record: PlacedRecord;
  body: TurnBody;
  logic: AnyLogic;
  /** The state at the turn's base. */
  entry: ServiceEntry;
  /** The same with the turns that this one foresaw. */
  seen: ServiceEntry;
}>;

type Context = Readonly<{ lines: ServiceLines; answered: Answered }>;

function causesOf({ body }: TurnToCheck, { lines }: Context): (Cause | string)[] {
  return body.causes.map((address) => lines.eventAt(address) ?? addressOf(address));
}

/** Why a listed cause cannot have been one. */
function causeProblem(cause: Cause | string, turn: TurnToCheck, context: Context) {
  if (typeof cause === 'string') return `${cause} is no event that counted before this turn`;
  const { event, offset } = cause;
  const { body } = turn;
  if (offset > body.baseOffset && !body.foreseen.includes(event.record))
    return `${addressOf(event)} came after the base of this turn`;
  if (!context.lines.isCause(body.service, event))
    return `${body.service} does not answer ${event.type} (${addressOf(event)})`;
  if (context.answered.isOpen(body.service, cause)) return undefined;
  return `${addressOf(event)} was answered already`;
}

function causeDifference(
  causes: readonly (Cause | string)[],
  turn: TurnToCheck,
  context: Context,
): Difference | undefined {
  for (const [index, cause] of causes.entries()) {
    const message = causeProblem(cause, turn, context);
    if (message === undefined) continue;
    const changes = [{ pointer: `/causes/${index}`, expected: canonical(turn.body.causes[index]) }];
    return differenceAt(turn.record, { kind: 'cause', message, changes });
  }
  return undefined;
}

/** How far names of contents may stand apart in a record and in a decision: files have them sorted. */
const apart = 2;

/**
 * Seals what is decided again. Digests of the record were checked already: where a body is the same as the recorded one,
 * so is its digest, and it is not made once more.
 */
function sealAsRecorded({ body }: TurnToCheck): Seal {
  let recorded: ReturnType<typeof contentsOf> | undefined;
  let at = -1;
  return (draft) => {
    recorded ??= contentsOf(body);
    at += 1;
    for (let near = Math.max(0, at - apart); near <= at + apart; near++) {
      const content = recorded[near]?.content;
      if (content?.mediaType !== draft.mediaType) continue;
      if (isSameJson(content.body, draft.body)) return content;
    }
    return sealContent(saltOf(body.session), draft);
  };
}

function decideAgain(turn: TurnToCheck, causes: readonly Cause[]): TurnBody {
  const { body, logic, entry, seen } = turn;
  const { epoch, incarnation, release, foreseen } = body;
  const facts = factsOf(body);
  const decided = withCauses(seen, causes);
  const drafts = decideEntry(logic, decided, facts);
  const author = { epoch, incarnation, release };
  // A base is the newest record that was in the log, not one that was foreseen.
  const base = entry.core.last;
  const made = { drafts, facts, author, foreseen, base };
  return turnBody(logic, decided, made, sealAsRecorded(turn));
}

/** The first event that differs, and how. */
function eventPlace(recorded: readonly EventRecord[], decided: readonly EventRecord[]) {
  const count = Math.max(recorded.length, decided.length);
  for (let index = 0; index < count; index++) {
    const [expected, actual] = [recorded[index], decided[index]];
    if (canonical(expected) === canonical(actual)) continue;
    const eventType = expected?.type ?? actual?.type ?? '';
    const message =
      actual === undefined
        ? `this release does not decide ${eventType}`
        : expected === undefined
          ? `this release decides one more event, ${eventType}`
          : `this release decides ${actual.type} otherwise than recorded`;
    return { eventIndex: index, eventType, message };
  }
  return undefined;
}

function decisionDifference(turn: TurnToCheck, decided: TurnBody): Difference {
  const { broken } = turn.seen;
  if (broken !== undefined && turn.body.events[0]?.type !== 'decision.failed') {
    const message = `this release cannot fold what came before this turn: ${broken.message}`;
    return differenceAt(turn.record, { kind: 'fold', message, changes: [] });
  }
  const place = eventPlace(turn.body.events, decided.events);
  const changes = changesOf(turn.body, decided);
  const message = 'this release makes another turn of the same events';
  return differenceAt(turn.record, { kind: 'decision', message, changes, ...place });
}

/** What is wrong with a turn whose record is as it was written; undefined if it is decided the same. */
export function checkDecision(turn: TurnToCheck, context: Context): Difference | undefined {
  const { record, body } = turn;
  if (body.atMs < turn.seen.core.last.atMs) {
    const message = 'this turn is earlier than its base, or than what it foresaw';
    const changes = [{ pointer: '/atMs', expected: `${body.atMs}` }];
    return differenceAt(record, { kind: 'base', message, changes });
  }
  const causes = causesOf(turn, context);
  const wrong = causeDifference(causes, turn, context);
  if (wrong !== undefined) return wrong;
  return compare(turn, causes as readonly Cause[]);
}

function compare(turn: TurnToCheck, causes: readonly Cause[]): Difference | undefined {
  try {
    const decided = decideAgain(turn, causes);
    // The id was checked to be the hash of what is recorded: what is the same has the same id.
    if (isSameJson(decided, turn.body)) return undefined;
    if (turnId(decided) === turn.record.header.id) return undefined;
    return decisionDifference(turn, decided);
  } catch (thrown) {
    const message = `this release cannot decide this turn again: ${toError(thrown).message}`;
    return differenceAt(turn.record, { kind: 'decision', message, changes: [] });
  }
}
