import type {
  CheckpointBody,
  PlacedRecord,
  TurnBody,
} from '../../services/chassis/protocol/record.ts';
import { underPlainSalt } from '../../services/chassis/protocol/seal.ts';
import { type ServiceEntry, standByOf } from '../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { isMissing } from '../read/contents.ts';
import { isPlaced, type JudgedRecord, type JudgedSession, judgeSession } from '../read/session.ts';
import type { SessionSource } from '../read/source.ts';
import { Answered } from './answered.ts';
import { checkpointDifference, isComparable, stateHashDifference } from './checkpoints.ts';
import { checkDecision } from './decisions.ts';
import { foreseenBy } from './foreseen.ts';
import {
  checkIntegrity,
  Digests,
  differenceAt,
  inputIdDifference,
  type SessionDigests,
} from './integrity.ts';
import { type LogicLookup, releaseLogics } from './logics.ts';
import { type Difference, Findings, type VerifyReport } from './report.ts';
import { reportOf } from './report-of.ts';
import { type Blindness, ServiceLines } from './service-lines.ts';
import { checkSharedPast } from './shared-past.ts';

/** Proves a session: everything that was decided is decided again, everything that is hashed is hashed again. */

class Verification {
  readonly findings = new Findings();
  private readonly judged: JudgedSession;
  private readonly logics: LogicLookup;
  private readonly lines: ServiceLines;
  private readonly answered = new Answered();
  private readonly digests: SessionDigests;
  private readonly broken = new Set<string>();

  constructor(judged: JudgedSession, logics: LogicLookup) {
    this.judged = judged;
    this.logics = logics;
    this.lines = new ServiceLines(judged, logics);
    this.digests = Digests.of(judged.source.session);
  }

  run(): void {
    for (const one of this.judged.records) {
      this.check(one);
      this.lines.take(one);
      if (one.verdict === 'effective') this.lines.release(one.record.header.id);
    }
  }

  private check({ record, verdict, step }: JudgedRecord): void {
    if (verdict === 'unreadable')
      this.findings.warn(
        `record ${record.header.id} at offset ${record.offset} cannot be read by anybody`,
      );
    if (!isPlaced(record) || verdict === 'void') return;
    const whole = checkIntegrity(record, this.digests, this.findings);
    if (verdict !== 'effective') return;
    const { body } = record;
    if (body.kind === 'turn') this.checkTurn(record, body, whole);
    else if (body.kind === 'checkpoint') this.checkCheckpoint(record, body, whole);
    else this.checkInput(record);
    for (const event of step?.events ?? []) checkSharedPast(record, event, this.findings);
  }

  private differ(difference: Difference | undefined): void {
    if (difference !== undefined) this.findings.differ(difference);
  }

  private checkInput(record: PlacedRecord): void {
    this.differ(inputIdDifference(record));
    const { body } = record;
    if (body.kind !== 'input' || body.event.type !== 'timer.fired') return;
    const { record: setter, index, dueAtMs } = body.event.data;
    const set = this.lines.eventAt({ record: String(setter), index: Number(index) })?.event;
    if (set?.type !== 'timer.set' || set.data.dueAtMs === dueAtMs) return;
    const message = 'this timer says another due time than its setting';
    const change = {
      pointer: '/event/data/dueAtMs',
      expected: `${dueAtMs}`,
      actual: `${set.data.dueAtMs}`,
    };
    const place = { eventIndex: 0, eventType: 'timer.fired', changes: [change] };
    this.differ(differenceAt(record, { kind: 'timer', message, ...place }));
  }

  private checkTurn(record: PlacedRecord, body: TurnBody, whole: boolean): void {
    this.findings.count(body.service, { turns: 1, events: body.events.length });
    if (whole) this.decideAgain(record, body);
    this.answered.take(body);
  }

  private decideAgain(record: PlacedRecord, body: TurnBody): void {
    if (this.judged.source.fork !== undefined && body.release === 'rehearsal') {
      this.findings.hash(body, 'it was rehearsed with a candidate, which is not part of the file');
      return;
    }
    if (this.judged.source.anonymised === true) {
      this.findings.hash(body, 'the session was anonymised, and its decisions saw other texts');
      return;
    }
    const logic = this.logics(body.service, body.behaviour);
    if (logic?.behaviour !== body.behaviour) {
      this.findings.hash(body, carried(body.service, logic));
      return;
    }
    if (Object.values(body.facts.content ?? {}).some(isMissing)) {
      this.hashOnly(body.service, missingFacts(body.service));
      return;
    }
    const entry = this.stateOf(record, body.service);
    if (entry === undefined) return;
    const seen = this.foreseen(record, body, { logic, entry });
    if (seen === undefined) return;
    const standBy = standByOf(seen);
    if (standBy !== undefined) {
      this.findings.hash(body, `this release does not understand ${standBy.because}`);
      return;
    }
    this.findings.count(body.service, { decisions: 1 });
    const context = { lines: this.lines, answered: this.answered };
    const check = () => checkDecision({ record, body, logic, entry, seen }, context);
    const isSealed = record.header.codec !== undefined;
    this.differ(isSealed ? check() : underPlainSalt(body.session, check));
  }

  /** The state that the decision was made from. Says why there is none. */
  private foreseen(
    record: PlacedRecord,
    body: TurnBody,
    at: Readonly<{ logic: AnyLogic; entry: ServiceEntry }>,
  ): ServiceEntry | undefined {
    const found =
      this.lines.foreseenBy(record.header.id, body) ??
      foreseenBy(body, { ...at, lines: this.lines });
    if ('unknown' in found) {
      const message = `the record ${found.unknown} that this turn foresaw does not count before it`;
      this.differ(differenceAt(record, { kind: 'base', message, changes: [] }));
      return undefined;
    }
    if (!isBlind(found)) return found;
    this.blind(body.service, found);
    return undefined;
  }

  private hashOnly(service: string, reason: string): void {
    this.findings.count(service, { hashOnly: 1 });
    this.findings.warn(reason);
  }

  /** The state that the record refers to. Says what is wrong where there is none. */
  private stateOf(record: PlacedRecord, service: string): ServiceEntry | undefined {
    const found = this.lines.stateFor(record.header.id);
    if (found === undefined) this.differ(this.withoutState(record));
    else if (isBlind(found)) this.blind(service, found);
    else return found;
    return undefined;
  }

  private blind(service: string, { kind, message, record }: Blindness): void {
    const place = `record ${record.header.id} at offset ${record.offset}`;
    this.hashOnly(service, `from ${place} on, ${service} was checked by hash only: ${message}`);
    const name = `${service} ${record.header.id}`;
    if (kind === 'missing' || this.broken.has(name)) return;
    this.broken.add(name);
    const text = `this release cannot fold this record for ${service}: ${message}`;
    this.differ(differenceAt(record, { kind: 'fold', message: text, changes: [] }));
  }

  private withoutState(record: PlacedRecord): Difference {
    const { body } = record;
    const root =
      body.kind === 'turn' && body.root !== undefined ? ` or checkpoint ${body.root}` : '';
    const base = body.kind === 'checkpoint' ? body.cursor.record : record.header.base;
    const message = `record ${base}${root}, from which this was made, does not count before it`;
    return differenceAt(record, { kind: 'base', message, changes: [] });
  }

  private checkCheckpoint(record: PlacedRecord, body: CheckpointBody, whole: boolean): void {
    const { service, release } = body;
    this.findings.count(service, { checkpoints: 1 });
    if (!whole || this.judged.source.anonymised === true) return;
    this.differ(stateHashDifference(record, body));
    const logic = this.logics(service, body.behaviour ?? 1);
    const written = `checkpoints of ${service} (release ${release}, fold ${body.fold}) were checked by hash only`;
    if (logic === undefined || !isComparable(body, logic)) {
      this.hashOnly(service, `${written}: this release folds otherwise`);
      return;
    }
    const entry = this.stateOf(record, service);
    if (entry === undefined) return;
    const standBy = standByOf(entry);
    if (standBy === undefined) this.differ(checkpointDifference(record, body, { logic, entry }));
    else this.hashOnly(service, `${written}: this release does not understand ${standBy.because}`);
  }
}

/** What a release says that does not decide as the turn was decided. */
const carried = (service: string, logic: AnyLogic | undefined): string =>
  logic === undefined
    ? `this release has no service ${service}`
    : `this release has behaviour ${logic.behaviour}`;

const missingFacts = (service: string): string =>
  `a turn of ${service} was checked by hash only: a content of its facts is nowhere`;

const isBlind = (found: ServiceEntry | Blindness): found is Blindness => 'kind' in found;

/**
 * Verifies a session from any source: acceptance, ids, digests, checkpoints, and every decision of every service that
 * `logics` has, computed again and compared byte for byte. A session that still runs is verified so far. Throws
 * LongreinError SESSION_UNKNOWN, and what the source throws; a difference is in the report, not thrown.
 */
export async function verifySession(
  source: SessionSource,
  logics: LogicLookup = releaseLogics,
): Promise<VerifyReport> {
  const judged = await judgeSession(source);
  const verification = new Verification(judged, logics);
  verification.run();
  return reportOf(judged, verification.findings);
}
