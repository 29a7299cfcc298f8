import type { EventAddress, SeenEvent } from '../../schemas/event.ts';
import { toError } from '../../services/chassis/errors.ts';
import { type Forked, pastOf } from '../../services/chassis/protocol/forked-past.ts';
import type {
  CheckpointBody,
  PlacedRecord,
  TurnBody,
} from '../../services/chassis/protocol/record.ts';
import { readCheckpoint } from '../../services/chassis/protocol/saved-entry.ts';
import {
  type Cause,
  foldEntry,
  newEntry,
  type ServiceEntry,
  withCauses,
} from '../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import type { CoreStep } from '../../services/chassis/protocol/session-core.ts';
import { contentsOf } from '../read/contents.ts';
import { isPlaced, type JudgedRecord, type JudgedSession } from '../read/session.ts';
import { EventPlaces } from './event-places.ts';
import type { LogicLookup } from './logics.ts';
import { lacksPast } from './shared-past.ts';
import { type Want, wantOf } from './wanted.ts';

/**
 * Folds the session for every service that decided in it. A line is a fold from the beginning, or from a checkpoint that
 * turns name as their root. States at the places that records refer to are kept until those records were checked.
 */

type Line = {
  readonly logic: AnyLogic;
  readonly root: string;
  entry: ServiceEntry;
  /** It began at a checkpoint: its core is a copy of its own, in an order of its own. */
  restored: boolean;
  /** Why this line cannot be folded on. */
  blind: Blindness | undefined;
  /** All events that its service had to answer. */
  readonly causes: EventPlaces<true>;
  open: number;
};

/** `missing`: a content that is nowhere. `broken`: this release cannot fold the event. */
export type Blindness = Readonly<{
  kind: 'missing' | 'broken';
  message: string;
  record: PlacedRecord;
}>;

/** Who wants to know the state of a line at some record: as its base, or as the last that it foresaw. */
type Waiting = Readonly<{ line: Line; by: string; kept: Map<string, ServiceEntry> }>;

const isSameFold = (one: AnyLogic, other: AnyLogic): boolean =>
  one === other ||
  (one.name === other.name && one.behaviour === other.behaviour && one.fold === other.fold);

export class ServiceLines {
  private readonly lines = new Set<Line>();
  /** Lines that begin at a checkpoint that was not reached yet, by that. */
  private readonly coming = new Map<string, Line[]>();
  private readonly lineOf = new Map<string, Line>();
  /** By the record after which the state is wanted. */
  private readonly waiting = new Map<string, Waiting[]>();
  private readonly kept = new Map<string, ServiceEntry>();
  private readonly keptForeseen = new Map<string, ServiceEntry>();
  /** Record id -> the one that counted right before it. */
  private readonly previous = new Map<string, string>();
  private newest = '';
  private readonly events = new EventPlaces<Cause>();
  /** Service -> all events that it had to answer. */
  private readonly causes = new Map<string, EventPlaces<true>>();
  private readonly passed: PlacedRecord[] = [];
  private readonly byId = new Map<string, PlacedRecord>();
  private readonly session: string;
  /** Why nothing can be folded from the beginning; undefined where it is there. */
  private readonly gone: Blindness | undefined;

  constructor(judged: JudgedSession, logics: LogicLookup) {
    this.session = judged.source.session;
    this.gone = withoutBeginning(judged);
    for (const one of judged.records) {
      const want = wantOf(one);
      const logic = want === undefined ? undefined : logics(want.service, want.behaviour);
      if (want !== undefined && logic !== undefined) this.want(want, logic);
    }
  }

  private want({ by, root, at, foreseen }: Want, logic: AnyLogic): void {
    const line = this.lineFor(logic, root);
    this.await(at, { line, by, kept: this.kept });
    if (foreseen !== undefined) this.await(foreseen, { line, by, kept: this.keptForeseen });
    line.open += 1;
    this.lineOf.set(by, line);
  }

  private lineFor(logic: AnyLogic, root: string): Line {
    const coming = this.coming.get(root) ?? [];
    for (const line of root === '' ? this.lines : coming)
      if (isSameFold(line.logic, logic)) return line;
    const line = this.newLine(logic, root);
    if (root === '') this.lines.add(line);
    else this.coming.set(root, [...coming, line]);
    return line;
  }

  private await(at: string, one: Waiting): void {
    const others = this.waiting.get(at);
    if (others === undefined) this.waiting.set(at, [one]);
    else others.push(one);
  }

  private newLine(logic: AnyLogic, root: string): Line {
    const entry = newEntry(logic, this.session);
    // What starts from a checkpoint is folded as soon as it is reached.
    const blind = root === '' ? this.gone : undefined;
    const causes = this.causes.get(logic.name) ?? new EventPlaces<true>();
    this.causes.set(logic.name, causes);
    return { logic, root, restored: false, entry, blind, causes, open: 0 };
  }

  /** The state that this record is about, or why there is none; undefined where it refers to nothing before it. */
  stateFor(record: string): ServiceEntry | Blindness | undefined {
    const kept = this.kept.get(record);
    if (kept !== undefined) return kept;
    return this.lineOf.get(record)?.blind ?? this.gone;
  }

  /**
   * The state after all that a turn foresaw, where nothing else came between its base and that: then it is the state at
   * that place, and need not be folded once more. Undefined where it has to be.
   */
  foreseenBy(turn: string, { base, foreseen }: TurnBody): ServiceEntry | undefined {
    let before = base;
    for (const id of foreseen) {
      if (this.previous.get(id) !== before) return undefined;
      before = id;
    }
    return this.keptForeseen.get(turn);
  }

  /** The record, which counted, was checked. */
  release(record: string): void {
    const line = this.lineOf.get(record);
    if (line === undefined) return;
    this.kept.delete(record);
    this.keptForeseen.delete(record);
    this.lineOf.delete(record);
    if (!this.lines.has(line)) return;
    line.open -= 1;
    if (line.open === 0) this.lines.delete(line);
  }

  /** An event that counted. */
  eventAt(address: EventAddress): Cause | undefined {
    return this.events.get(address);
  }

  /** Whether this event was ever one that the service had to answer. */
  isCause(service: string, address: EventAddress): boolean {
    return this.causes.get(service)?.get(address) === true;
  }

  /** A record that counted before this one, by its id. */
  recordBefore(id: string): PlacedRecord | undefined {
    return this.byId.get(id);
  }

  /** Takes the next record of the session. */
  take(judged: JudgedRecord): void {
    const { record, step } = judged;
    if (!isPlaced(record)) return;
    if (record.body.kind === 'checkpoint') {
      if (judged.verdict === 'effective') this.begin(record, record.body);
      return;
    }
    if (step === undefined) return;
    for (const event of step.events) {
      if (event.type === 'session.forked') this.rememberPast(record, event);
      this.remember(event, record.offset);
    }
    for (const line of this.lines) this.fold(line, record, step);
    this.keep(record.header.id);
    if (judged.verdict !== 'effective') return;
    this.passed.push(record);
    this.byId.set(record.header.id, record);
    this.previous.set(record.header.id, this.newest);
    this.newest = record.header.id;
  }

  /** What a fork shares came before all that is its own. */
  private rememberPast(record: PlacedRecord, forked: Forked): void {
    for (const { step } of pastOf(record, forked)?.steps('') ?? [])
      for (const event of step.events) this.remember(event, record.offset);
  }

  private remember(event: SeenEvent, offset: number): void {
    this.events.set(event, { event, offset });
  }

  /** Lines begin at a checkpoint, one for each logic that started from it. */
  private begin(record: PlacedRecord, body: CheckpointBody): void {
    const coming = this.coming.get(record.header.id) ?? [];
    this.coming.delete(record.header.id);
    for (const line of coming) {
      if (line.logic.name !== body.service) continue;
      this.lines.add(line);
      this.beginLine(line, record, body);
    }
    for (const line of this.lines)
      if (this.isBeginningOf(line, body)) this.beginLine(line, record, body);
  }

  /**
   * A line whose beginning was cut sees again from the first checkpoint that holds the very state that it would have: one
   * folded from the beginning, in the same fold, up to a record that is there.
   */
  private isBeginningOf(line: Line, body: CheckpointBody): boolean {
    if (this.gone === undefined || line.blind !== this.gone) return false;
    const { name, fold } = line.logic;
    const isSame = name === body.service && fold === body.fold && body.root === undefined;
    return isSame && this.byId.has(body.cursor.record);
  }

  /** What was read since the checkpoint's cursor is taken as well. */
  private beginLine(line: Line, record: PlacedRecord, body: CheckpointBody): void {
    if (body.state.body === undefined) {
      line.blind = blindness(record, new Error(`content ${body.state.digest} is nowhere`));
      return;
    }
    const { root: _, ...entry } = readCheckpoint(line.logic, body, record.header.id);
    // Turns of a line that only sees again name no root: who made them had folded from the beginning.
    line.entry = line.root === '' ? entry : { ...entry, root: line.root };
    line.restored = true;
    line.blind = undefined;
    this.keep(line.entry.core.last.record, line);
    for (const one of this.passed) {
      this.fold(line, one, undefined);
      this.keep(one.header.id, line);
    }
  }

  private fold(line: Line, record: PlacedRecord, step: CoreStep | undefined): void {
    if (line.blind !== undefined || record.offset <= line.entry.core.last.offset) return;
    try {
      const shared = !line.restored && line.logic.language === undefined;
      const at = shared && step !== undefined ? { record, step } : { record };
      const next = foldEntry(line.logic, line.entry, at);
      if (next.broken !== undefined && line.entry.broken === undefined && hasGap(record)) {
        line.blind = { kind: 'missing', message: next.broken.message, record };
        return;
      }
      line.entry = withoutCauses(line, next);
    } catch (thrown) {
      line.blind = blindness(record, toError(thrown));
    }
  }

  /** Keeps the states after this record for who wants them: of every line, or of one. */
  private keep(at: string, only?: Line): void {
    for (const { line, by, kept } of this.waiting.get(at) ?? none) {
      const isMeant = only === undefined || line === only;
      if (isMeant && line.entry.core.last.record === at) kept.set(by, line.entry);
    }
  }
}

const none: readonly Waiting[] = [];

/** Which causes a decision had is recorded: lists of them are not carried along, only what was one is known. */
function withoutCauses(line: Line, entry: ServiceEntry): ServiceEntry {
  if (entry.causes.length === 0) return entry;
  for (const { event } of entry.causes) line.causes.set(event, true);
  return withCauses(entry, []);
}

export const hasGap = (record: PlacedRecord): boolean =>
  lacksPast(record) || contentsOf(record.body).some(({ content }) => content.body === undefined);

/** The log was cut, and what was before is only known as far as checkpoints hold it. */
function withoutBeginning({ restoredAt, records }: JudgedSession): Blindness | undefined {
  const first = records.find(({ verdict }) => verdict === 'effective')?.record;
  if (restoredAt === undefined || first === undefined || !isPlaced(first)) return undefined;
  const message = 'what led to it was cut by retention';
  return { kind: 'missing', message, record: first };
}

const blindness = (record: PlacedRecord, error: Error): Blindness => ({
  kind: hasGap(record) ? 'missing' : 'broken',
  message: error.message,
  record,
});
