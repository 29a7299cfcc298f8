import { limits } from '../../../schemas/limits.ts';
import { placedAt } from '../protocol/fusing.ts';
import type { BatchPlace, InputBody, TurnBody } from '../protocol/record.ts';
import { foldEntry, type ServiceEntry } from '../protocol/service-fold.ts';
import type { SessionCore } from '../protocol/session-core.ts';
import type { DecidedTurn } from './decided-turn.ts';
import type { Decider } from './decider.ts';
import { Foresight } from './foresight.ts';
import type { HostedService } from './ports.ts';
import { type Slot, sharedCoreFold } from './slot.ts';

/** What one service would know if all of the batch were in the log already. */
type View = {
  readonly service: HostedService;
  readonly base: SessionCore['last'];
  entry: ServiceEntry;
};

/** An input that this host writes itself: an outcome, or a timer that fired. */
export type OwnInput = Readonly<{ id: string; body: InputBody; traceparent: string }>;

/** What is lost or acknowledged was told to the first turns of the batch: it must not be told twice. */
const noNews = { delivered: [], lost: {} };

const contentNameBytes = 256;
const recordFrameBytes = 1_024;

/** About what a record takes in its batch: contents that are too large stand in blobs. */
function bytesOf(body: TurnBody | InputBody): number {
  const isTurn = body.kind === 'turn';
  const named = isTurn ? 80 * body.causes.length + 40 * body.foreseen.length : 0;
  let bytes = recordFrameBytes + named;
  for (const part of isTurn ? [...body.events, body.facts] : [body.event]) {
    bytes += JSON.stringify(part.data).length;
    for (const content of Object.values(part.content ?? {}))
      bytes += content.bytes <= limits.contentInlineBytesMax ? content.bytes : contentNameBytes;
  }
  return bytes;
}

/**
 * The turns that go out as one batch (DESIGN 3.5): those that are due by what is in the log, or an input that this host
 * writes itself; then, round by round, what the services of this host answer to them. Nothing here is in the log: views are of this batch alone.
 *
 * F1 Only services that are owned, known and do not stand by take part.
 * F2 A turn foresaw all of its batch that its service was shown, in the order of the batch.
 * F3 A batch has an end: what does not fit is decided when it was read back.
 * F4 Who had nothing to say is asked again only where something is new to it.
 */
export class Cascade {
  readonly turns: DecidedTurn[] = [];
  private input: OwnInput | undefined;
  private readonly slot: Slot;
  private readonly decider: Decider;
  private readonly services: readonly HostedService[];
  private views: readonly View[] = [];
  private readonly foreseen = new Map<string, string>();
  /** What the services made of the batch: it need not be made again where the batch lands as foreseen. */
  readonly foresight = new Foresight();
  private bytes = 0;

  constructor(slot: Slot, services: readonly HostedService[], decider: Decider) {
    this.slot = slot;
    this.decider = decider;
    this.services = services;
  }

  /** All of the batch, in order. */
  get records(): readonly (OwnInput | DecidedTurn)[] {
    return this.input === undefined ? this.turns : [this.input, ...this.turns];
  }

  /** The batch begins with this input: turns are shown it first. */
  begin({ body, ...input }: OwnInput): void {
    this.input = { ...input, body: { ...body, foreseeable: true } };
    this.bytes = bytesOf(body);
  }

  /** Adds a turn; false where the batch is full. The first always fits. */
  add(turn: DecidedTurn): boolean {
    const most = this.slot.singly ? 1 : limits.batchTurnsMax;
    const bytes = bytesOf(turn.body);
    if (this.turns.length >= most) return false;
    if (this.bytes > 0 && this.bytes + bytes > limits.batchBytesMax) return false;
    this.bytes += bytes;
    this.turns.push(turn);
    return true;
  }

  /** Lets the services answer what is in the batch until nobody has anything to add. */
  run(): void {
    if (this.slot.singly) return;
    if (this.services.length < 2 && this.input === undefined) return;
    this.views = this.services.flatMap((service) => {
      const entry = this.slot.seats.get(service.logic.name)?.entry;
      if (entry === undefined) return [];
      this.foresight.begin(service.logic.name, entry);
      return [{ service, entry, base: entry.core.last }];
    });
    while (this.foresee()) {
      const answers = this.views.flatMap((view) => this.answer(view));
      if (!answers.every((turn) => this.add(turn))) return;
    }
  }

  /** Shows what is new to everybody. */
  private foresee(): boolean {
    const from = this.foreseen.size;
    const { records } = this;
    for (const [index, record] of records.entries()) {
      if (index < from) continue;
      this.foreseen.set(record.id, record.traceparent);
      this.show(record, { batch: records[0]?.id ?? '', batchIndex: index });
    }
    return this.foreseen.size > from;
  }

  private show(one: OwnInput | DecidedTurn, place: BatchPlace): void {
    const after = Math.max(...this.views.map(({ base }) => base.offset));
    const record = placedAt(after + 1 + place.batchIndex, one, place);
    const fold = sharedCoreFold(record);
    for (const view of this.views) {
      const { logic } = view.service;
      const before = view.entry.core;
      const step = fold(before, logic.language);
      view.entry = foldEntry(logic, view.entry, { record, step });
      this.foresight.shown(logic.name, record, { before, step, after: view.entry });
    }
  }

  private answer({ service, entry, base }: View): DecidedTurn[] {
    const { name } = service.logic;
    if (entry.causes.length === 0 || this.foresight.isQuiet(name, entry)) return [];
    const foreseen = new Map(this.foreseen);
    const { slot } = this;
    const turn = this.decider.decide({ slot, service, entry, chassis: noNews, foreseen, base });
    if (turn !== undefined) return [turn];
    this.foresight.quiet(name, entry);
    return [];
  }
}
