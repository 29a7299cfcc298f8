import type { Draft, InputEventType, SeenEvent } from '../../schemas/event.ts';
import { decideEntry, type FactsInput } from '../../services/chassis/protocol/decision.ts';
import { foreseeing } from '../../services/chassis/protocol/fusing.ts';
import { outcomeId, timerFiredId } from '../../services/chassis/protocol/ids.ts';
import {
  headersOf,
  type InputBody,
  type PlacedRecord,
  parseHeader,
  type RecordBody,
} from '../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';
import {
  type Cause,
  foldEntry,
  newEntry,
  type ServiceEntry,
} from '../../services/chassis/protocol/service-fold.ts';
import { type AnyLogic, addressOf } from '../../services/chassis/protocol/service-logic.ts';
import {
  foldCore,
  type SessionCore,
  unknownSession,
} from '../../services/chassis/protocol/session-core.ts';
import { buildTurn, type SealedTurn } from '../../services/chassis/protocol/turn.ts';
import type { Candidate } from './candidate.ts';

/** Services over a session in memory: folds, decides and appends, and touches nothing. */

const author = { epoch: 0, incarnation: 'rehearsal', release: 'rehearsal' };

export class Stage {
  core: SessionCore;
  nowMs = 0;
  /** Records that this stage made itself. */
  readonly made: PlacedRecord[] = [];
  private readonly session: string;
  private readonly candidate: Candidate;
  private readonly entries = new Map<string, ServiceEntry>();
  /** Service -> record -> its state right after it; for decisions whose base lies behind. */
  private readonly after = new Map<string, Map<string, ServiceEntry>>();
  private readonly events = new Map<string, Cause>();
  private readonly ofRecord = new Map<string, readonly SeenEvent[]>();
  private readonly placed: PlacedRecord[] = [];
  private nextOffset = 0;

  constructor(session: string, logics: readonly AnyLogic[], candidate: Candidate) {
    this.session = session;
    this.candidate = candidate;
    this.core = unknownSession(session);
    this.logics = logics;
    for (const logic of logics) this.entries.set(logic.name, newEntry(logic, session));
  }

  readonly logics: readonly AnyLogic[];

  entryOf(service: string): ServiceEntry | undefined {
    return this.entries.get(service);
  }

  /** The state that a service had right after a record; the newest where that is not known. */
  entryAfter(service: string, record: string): ServiceEntry | undefined {
    return this.after.get(service)?.get(record) ?? this.entries.get(service);
  }

  /** Takes a record, of the past or made here, into every service. */
  fold(recorded: PlacedRecord): void {
    const record = this.candidate.record(recorded);
    const step = foldCore(this.core, record);
    this.placed.push(recorded);
    this.ofRecord.set(record.header.id, step.events);
    for (const event of step.events)
      this.events.set(addressOf(event), { event, offset: record.offset });
    this.core = step.core;
    this.nowMs = Math.max(this.nowMs, step.core.last.atMs);
    this.nextOffset = Math.max(this.nextOffset, record.offset + 1);
    for (const logic of this.logics) {
      const before = this.entries.get(logic.name);
      if (before === undefined) continue;
      const own = this.candidate.ofService?.(logic.name, recorded);
      const entry = foldEntry(
        logic,
        before,
        own === undefined ? { record, step } : { record: own },
      );
      this.entries.set(logic.name, entry);
      const known = this.after.get(logic.name) ?? new Map<string, ServiceEntry>();
      this.after.set(logic.name, known.set(record.header.id, entry));
    }
  }

  /** Everything that was folded, as it was written. */
  get records(): readonly PlacedRecord[] {
    return this.placed;
  }

  /** What a record brought. */
  eventsOf(record: string): readonly SeenEvent[] {
    return this.ofRecord.get(record) ?? [];
  }

  /** An event as a cause, by its address. */
  causeAt(address: string): Cause | undefined {
    return this.events.get(address);
  }

  /** The service has looked at all its causes. */
  answered(service: string): void {
    const entry = this.entries.get(service);
    if (entry !== undefined) this.entries.set(service, { ...entry, causes: [] });
  }

  /** The state of a service with records that it foresaw, as the candidate has them. */
  foresee(logic: AnyLogic, entry: ServiceEntry, records: readonly PlacedRecord[]): ServiceEntry {
    const seen = records.map(
      (one) => this.candidate.ofService?.(logic.name, one) ?? this.candidate.record(one),
    );
    return foreseeing(logic, entry, seen);
  }

  /** What a service decides in this state, sealed; undefined for nothing. */
  decide(logic: AnyLogic, entry: ServiceEntry, given: FactsInput): SealedTurn | undefined {
    const facts = this.candidate.facts(given);
    const drafts = decideEntry(logic, entry, facts);
    if (drafts.length === 0) return undefined;
    return buildTurn(logic, entry, { drafts, facts, author, foreseen: [] });
  }

  /** Appends a turn that was decided here. */
  append({ id, body }: SealedTurn): void {
    this.write(id, body);
  }

  private write(id: string, body: RecordBody): void {
    const header = parseHeader(headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' }));
    if (header === undefined) throw new Error(`${id} has no header`);
    const record = { offset: this.nextOffset, header, body };
    this.made.push(record);
    this.fold(record);
  }

  private input(id: string, source: string, draft: Draft): void {
    const { tenant, principal, labels } = this.core.meta;
    const event = sealEvent(saltOf(this.session), draft);
    const head = { kind: 'input', session: this.session, source, atMs: this.nowMs } as const;
    const body: InputBody = { ...head, ...{ tenant, principal, labels, event } };
    this.write(id, body);
  }

  /** Appends the outcome of a claimed call. */
  outcome(claim: string, draft: Draft<InputEventType>): void {
    const data: Record<string, unknown> = { ...(draft.data as object), claim };
    const call = String(data['call']);
    const source = this.core.calls[call]?.service ?? 'rehearsal';
    this.input(outcomeId(call, claim), source, { ...draft, data } as unknown as Draft);
  }

  /** Fires a timer that is due. */
  fire(timer: string): void {
    const setting = this.core.timers[timer];
    if (setting === undefined) return;
    const { record, index, dueAtMs, service } = setting;
    const data = { timer, record, index, dueAtMs };
    this.input(timerFiredId(record, index), service, { type: 'timer.fired', data });
  }
}
