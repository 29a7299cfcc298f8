import type { SeenEvent } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { ablated } from '../ablation.ts';
import { toError } from '../errors.ts';
import { deliveriesOf } from './dead-letter.ts';
import { pastOf } from './forked-past.ts';
import type { PlacedRecord, TurnBody } from './record.ts';
import type { AnyLogic } from './service-logic.ts';
import { addressOf } from './service-logic.ts';
import { type CoreStep, foldCore, type SessionCore, unknownSession } from './session-core.ts';
import { concerns, type StandBy } from './stand-by.ts';

/** An event that waits for an answer, with the offset of its record. */
export type Cause = Readonly<{ event: SeenEvent; offset: number }>;

/**
 * One service's view of one session: what all readers know (`core`), the service's own state, its deliveries that
 * are not acknowledged, and the causes it has not answered. Host, event store and replay fold with the same function.
 */
export type ServiceEntry = Readonly<{
  core: SessionCore;
  state: unknown;
  /** Own events whose deliveries are open, by address. */
  outbox: Readonly<Record<string, SeenEvent>>;
  causes: readonly Cause[];
  /** Id of the checkpoint that this entry started from. */
  root?: string;
  /** Why an event could not be folded: the service decides no more in this session than to say so (DESIGN 3.14). */
  broken?: Readonly<{ code: string; message: string }>;
  /** Why this service stands by: its state is the one before what it does not understand, and not the session's. */
  standBy?: StandBy;
}>;

/** Why nothing is decided here: for this service, or for every one. */
export const standByOf = (entry: ServiceEntry): StandBy | undefined =>
  entry.standBy ?? entry.core.standBy;

/** `core`: one that others start from as well: who starts from the same is folded once for all. */
export function newEntry(
  logic: AnyLogic,
  session: string,
  core: SessionCore = unknownSession(session),
): ServiceEntry {
  return { core, state: logic.initial(), outbox: {}, causes: [] };
}

function hasDeliveries(logic: AnyLogic, event: SeenEvent, core: SessionCore): boolean {
  return event.service === logic.name && deliveriesOf(logic, event, core.meta).length > 0;
}

type Closing = SeenEvent<'delivery.acknowledged' | 'delivery.refused'>;

const closesDelivery = (event: SeenEvent): event is Closing =>
  event.type === 'delivery.acknowledged' || event.type === 'delivery.refused';

function foldOutbox(
  logic: AnyLogic,
  outbox: ServiceEntry['outbox'],
  at: { event: SeenEvent; core: SessionCore },
): ServiceEntry['outbox'] {
  const { event, core } = at;
  if (event.service !== logic.name) return outbox;
  if (closesDelivery(event)) {
    const { [addressOf(event.data)]: _done, ...rest } = outbox;
    return rest;
  }
  return hasDeliveries(logic, event, core) ? { ...outbox, [addressOf(event)]: event } : outbox;
}

/** DESIGN 3.7: a turn of this service answers all causes up to its base, listed or not, and all it foresaw. */
function answered(causes: readonly Cause[], body: TurnBody): readonly Cause[] {
  if (ablated('7a')) return causes;
  const listed = new Set(body.causes.map(addressOf));
  return causes.filter(
    ({ event, offset }) =>
      offset > body.baseOffset &&
      !listed.has(addressOf(event)) &&
      !body.foreseen.includes(event.record),
  );
}

/**
 * A service knows its own events when it writes them; what became of a delivery is news to it. A fork is for everybody:
 * what was under way has to be asked for again.
 */
const mayAnswer = (logic: AnyLogic, event: SeenEvent): boolean =>
  event.service !== logic.name || closesDelivery(event);

const isCause = (logic: AnyLogic, event: SeenEvent): boolean =>
  event.type === 'session.forked' || (mayAnswer(logic, event) && logic.answers(event));

/** Folds one accepted record. `step` may be given by who folded the core already (all services of a host share it). */
export function foldEntry(
  logic: AnyLogic,
  entry: ServiceEntry,
  at: Readonly<{ record: PlacedRecord; step?: CoreStep }>,
): ServiceEntry {
  const { record } = at;
  const step = at.step ?? foldCore(entry.core, record, logic.language);
  // Who stands by knows no more than the rules of the log: the state would be a wrong one.
  if (step.events.length === 0 || standByOf(entry) !== undefined)
    return step.core === entry.core ? entry : { ...entry, core: step.core };
  const [first] = step.events;
  const from = first?.type === 'session.forked' ? sharedEntry(logic, record, first) : entry;
  const folded = foldEvents(logic, from, { step, offset: record.offset });
  const own = record.body.kind === 'turn' && record.body.service === logic.name;
  if (!own || folded.causes.length === 0) return folded;
  return withCauses(folded, answered(folded.causes, record.body as TurnBody));
}

/** The same entry with other causes. Written out, not spread, where nothing went wrong: every reader makes many. */
export function withCauses(entry: ServiceEntry, causes: readonly Cause[]): ServiceEntry {
  const { core, state, outbox, root, broken, standBy } = entry;
  if (root === undefined && broken === undefined && standBy === undefined)
    return { core, state, outbox, causes };
  return { ...entry, causes };
}

/** What a service knows of the past that a fork shares, as if it were its own up to the opening. */
function sharedEntry(
  logic: AnyLogic,
  record: PlacedRecord,
  forked: SeenEvent<'session.forked'>,
): ServiceEntry {
  const past = pastOf(record, forked);
  let entry = newEntry(logic, forked.data.of);
  if (past === undefined) {
    const message = `the past that ${record.header.id} shares was not read`;
    return { ...entry, broken: { code: 'PAST_UNKNOWN', message } };
  }
  for (const one of past.steps(logic.name)) entry = foldEntry(logic, entry, one);
  // Offsets of another log mean nothing here, and what is to be delivered is delivered there.
  const causes = entry.causes.map(({ event }) => ({ event, offset: record.offset }));
  return { ...entry, outbox: {}, causes };
}

const withCause = (
  causes: readonly Cause[],
  event: SeenEvent,
  offset: number,
): readonly Cause[] => [...causes, { event, offset }];

function foldEvents(
  logic: AnyLogic,
  entry: ServiceEntry,
  { step, offset }: { step: CoreStep; offset: number },
): ServiceEntry {
  const { core } = step;
  let { state, outbox, causes } = entry;
  for (const event of step.events) {
    const strange = step.strange?.find((one) => one.index === event.index);
    if (strange !== undefined) {
      if (concerns(strange, logic.name)) return { ...entry, core, standBy: strange.standBy };
      continue;
    }
    // Its dead letter goes out whatever the service makes of it.
    if (event.type === 'decision.failed') outbox = foldOutbox(logic, outbox, { event, core });
    try {
      const before: unknown = state;
      state = logic.evolve(state, event);
      // An own event that the fold refused (it met a state that had moved on) leads to nothing.
      const taken = state !== before || closesDelivery(event);
      if (taken) outbox = foldOutbox(logic, outbox, { event, core });
    } catch (thrown) {
      const { message } = toError(thrown);
      const broken = {
        code: 'FOLD_THREW',
        message: `${event.type} ${addressOf(event)}: ${message}`,
      };
      return { ...entry, core, state, outbox, broken, causes: withCause(causes, event, offset) };
    }
    if (isCause(logic, event)) causes = withCause(causes, event, offset);
  }
  const { root, broken } = entry;
  if (root === undefined && broken === undefined) return { core, state, outbox, causes };
  return { ...entry, core, state, outbox, causes };
}

/** What a checkpoint holds. */
export type SavedEntry = Readonly<{
  core: SessionCore;
  state: unknown;
  outbox: ServiceEntry['outbox'];
  /** Addresses of the outbox in the order of their events, where there are several: JSON sorts the members. */
  outboxOrder?: readonly string[];
  broken?: NonNullable<ServiceEntry['broken']>;
}>;

/**
 * An entry as a checkpoint's content. Only an entry without open causes may be saved, and none that stands by: all up to
 * the cursor is answered.
 */
export function saveEntry({ core, state, outbox, broken }: ServiceEntry): JsonValue {
  const outboxOrder = Object.keys(outbox);
  const saved: SavedEntry = {
    ...{ core, state, outbox },
    ...(outboxOrder.length < 2 ? {} : { outboxOrder }),
    ...(broken === undefined ? {} : { broken }),
  };
  return saved as unknown as JsonValue;
}

export function restoreEntry(saved: JsonValue, root: string): ServiceEntry {
  const { outboxOrder = [], ...entry } = saved as unknown as SavedEntry;
  const inOrder = outboxOrder.flatMap((address) => {
    const event = entry.outbox[address];
    return event === undefined ? [] : [[address, event] as const];
  });
  const outbox = { ...Object.fromEntries(inOrder), ...entry.outbox };
  return { ...entry, outbox, causes: [], root };
}
