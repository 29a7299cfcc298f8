import type { FactsInput } from '../../services/chassis/protocol/decision.ts';
import type { EventRecord } from '../../services/chassis/protocol/event-record.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import type { PlacedRecord, TurnBody } from '../../services/chassis/protocol/record.ts';
import type { ServiceEntry } from '../../services/chassis/protocol/service-fold.ts';
import { type AnyLogic, addressOf } from '../../services/chassis/protocol/service-logic.ts';
import { factsOf, type SealedTurn } from '../../services/chassis/protocol/turn.ts';
import type { ModelGatewayState } from '../../services/model-gateway/decide.ts';
import { isMissing } from '../read/contents.ts';
import { type Happening, type History, textIn } from '../read/history.ts';
import { isPlaced } from '../read/session.ts';
import { type Change, changesOf } from '../verify/changes.ts';
import { type LogicLookup, releaseLogics } from '../verify/logics.ts';
import type { Answerer } from './answers.ts';
import { CallBook } from './call-book.ts';
import { type Candidate, unchanged } from './candidate.ts';
import { recordedFacts } from './facts.ts';
import { Stage } from './stage.ts';

/**
 * A session decided again from an event on, with a candidate. As long as everybody decides what is recorded, the record
 * is followed; at the first decision that is another one the paths part, and `play-on.ts` may go on from there.
 */

/** Where the paths part. `decided` is empty where nothing is decided instead. */
export type Parting = Readonly<{
  /** The recorded record, and its first event. */
  place: string;
  record: string;
  service: string;
  recorded: readonly string[];
  decided: readonly string[];
  changes: readonly Change[];
  because: 'decision' | 'mock';
}>;

export type Followed = Readonly<{
  /** Decisions that were made again and came out the same. */
  same: number;
  /** Turns that this release cannot decide again, and takes as they are. */
  taken: number;
  /** Recorded turns from the parting on: what would become of them is not known. */
  unknown: number;
  parts?: Parting;
}>;

export type RehearsalOptions = Readonly<{
  candidate?: Candidate;
  /** Answers in the place of the record, from the first call on. */
  mocks?: Answerer;
  logics?: LogicLookup;
}>;

const coreServices = [
  ...['planner', 'supervisor', 'tool-guard', 'tool-runner', 'sandbox-executor'],
  ...['model-gateway', 'aggregator'],
];

/** Every service that a session may need: those of a host, and the pools that the record or its plan names. */
function logicsOf(history: History, lookup: LogicLookup): readonly AnyLogic[] {
  const pools = history
    .ofType('plan.accepted')
    .flatMap(({ event }) =>
      event.type === 'plan.accepted'
        ? event.data.tasks.map(({ pool }) => `worker-pool:${pool}`)
        : [],
    );
  const deciders = history.entries.filter(({ isInput }) => !isInput).map(({ who }) => who);
  const names = new Set([...coreServices, ...pools, ...deciders]);
  return [...names].flatMap((name) => lookup(name) ?? []);
}

/** Records that count, in order. */
const effectiveRecords = (history: History): readonly PlacedRecord[] =>
  history.judged.records.flatMap(({ record, verdict }) =>
    verdict === 'effective' && isPlaced(record) && record.header.kind !== 'checkpoint'
      ? [record]
      : [],
  );

/** What decisions are compared by: contents by their digests. */
const comparable = ({ type, version, data, content = {} }: EventRecord) => ({
  ...{ type, version, data },
  content: Object.fromEntries(Object.entries(content).map(([name, { digest }]) => [name, digest])),
});

const typesOf = (events: readonly EventRecord[]): string[] => events.map(({ type }) => type);

export class Rehearsal {
  readonly stage: Stage;
  readonly book = new CallBook();
  readonly facts: ReadonlyMap<string, FactsInput>;
  readonly history: History;
  private readonly future: readonly PlacedRecord[];
  private readonly byId = new Map<string, PlacedRecord>();
  private readonly options: RehearsalOptions;
  private same = 0;
  private taken = 0;

  /** `from`: the first event that is decided again; all before its record is shared. */
  constructor(history: History, from: Happening, options: RehearsalOptions = {}) {
    this.history = history;
    this.options = options;
    const { candidate = unchanged, logics = releaseLogics } = options;
    this.facts = recordedFacts(history);
    this.stage = new Stage(history.judged.source.session, logicsOf(history, logics), candidate);
    const all = effectiveRecords(history);
    this.future = all.filter(({ offset }) => offset >= from.offset);
    for (const record of all) if (record.offset < from.offset) this.take(record);
  }

  private take(record: PlacedRecord): void {
    this.byId.set(record.header.id, record);
    this.stage.fold(record);
    this.note(record);
  }

  /** Writes down the calls that a record asks for. */
  note(record: PlacedRecord): void {
    const gateway = this.stage.entryOf('model-gateway')?.state as ModelGatewayState | undefined;
    if (gateway === undefined) return;
    for (const event of this.stage.eventsOf(record.header.id)) this.book.take(event, gateway);
  }

  /** Follows the record until the paths part, or to its end. */
  follow(): Followed {
    for (const [index, record] of this.future.entries()) {
      const parts = this.partAt(record);
      if (parts === undefined) {
        this.take(record);
        continue;
      }
      const rest = this.future.slice(index);
      const unknown =
        rest.filter(({ body }) => body.kind === 'turn').length -
        (parts.because === 'decision' ? 1 : 0);
      return { same: this.same, taken: this.taken, unknown, parts };
    }
    return { same: this.same, taken: this.taken, unknown: 0 };
  }

  private partAt(record: PlacedRecord): Parting | undefined {
    const { body } = record;
    if (body.kind === 'turn') return this.decideAgain(record, body);
    return this.isMocked(record) ? mockParting(record) : undefined;
  }

  private isMocked({ body }: PlacedRecord): boolean {
    if (body.kind !== 'input' || this.options.mocks === undefined) return false;
    const call = this.book.find(textIn({ event: body.event as never }, 'call'));
    const open = call === undefined ? undefined : this.stage.core.calls[call.call];
    return (
      call !== undefined &&
      open !== undefined &&
      this.options.mocks({ ...call, claim: open }) !== undefined
    );
  }

  private decideAgain(record: PlacedRecord, body: TurnBody): Parting | undefined {
    const { logics = releaseLogics } = this.options;
    const logic = logics(body.service, body.behaviour);
    const isWhole = !Object.values(body.facts.content ?? {}).some(isMissing);
    const entry = this.entryFor(body, logic);
    if (logic?.behaviour !== body.behaviour || !isWhole || entry === undefined) {
      this.taken += 1;
      return undefined;
    }
    const decided = this.stage.decide(logic, entry, factsOf(body));
    const [was, is] = [body.events, decided?.body.events ?? []].map((list) => list.map(comparable));
    if (canonical(was) === canonical(is)) {
      this.same += 1;
      return undefined;
    }
    if (decided !== undefined) this.append(decided);
    return {
      ...{ place: `${record.offset}.0`, record: record.header.id, service: body.service },
      ...{ recorded: typesOf(body.events), decided: typesOf(decided?.body.events ?? []) },
      ...{ changes: changesOf(was, is), because: 'decision' },
    };
  }

  append(turn: SealedTurn): void {
    this.stage.append(turn);
    const record = this.stage.made.at(-1);
    if (record !== undefined) this.note(record);
  }

  /** The state that a recorded turn was decided in. */
  private entryFor(body: TurnBody, logic: AnyLogic | undefined): ServiceEntry | undefined {
    const based = this.stage.entryAfter(body.service, body.base);
    if (logic === undefined || based === undefined) return undefined;
    const foreseen = body.foreseen.flatMap((id) => this.byId.get(id) ?? []);
    const entry = this.stage.foresee(logic, based, foreseen);
    const causes = body.causes.flatMap((address) => this.stage.causeAt(addressOf(address)) ?? []);
    return { ...entry, causes };
  }
}

const mockParting = ({ offset, header }: PlacedRecord): Parting => ({
  ...{ place: `${offset}.0`, record: header.id, service: header.service },
  ...{ recorded: header.types, decided: [], changes: [], because: 'mock' },
});
