import { bodyOf, type SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { callId } from './ids.ts';
import { changeEvent, type Setting } from './pinned-changes.ts';
import type { PlacedRecord } from './record.ts';
import { addressOf } from './service-logic.ts';
import {
  type CoreStep,
  foldCore,
  type SessionCore,
  type TimerSetting,
  unknownSession,
} from './session-core.ts';

/**
 * The past that a fork shares, as its services see it. Nothing is copied: the fork's opening names where it stands.
 *
 * F1 It is moved in time, so that it ends where the fork begins: what was due in ten minutes still is.
 * F2 A call that was under way has only been asked for, under another id: it needs a permit and a claim of its own.
 * F3 What was borrowed or lent beside it stays with the session whose past it is: money of a day, sandboxes, deliveries,
 *    and places of pools, where the opening says so.
 * F4 What the fork changes was so from the beginning.
 */

export type Forked = SeenEvent<'session.forked'>;
export type ForkedTimer = Forked['data']['timers'][number];
export type ForkedCall = Forked['data']['calls'][number];

/** A record of the past, and what it brings to a service of the fork. */
export type PastStep = Readonly<{ record: PlacedRecord; step: CoreStep }>;

const asked: ReadonlySet<string> = new Set(['tool.requested', 'model.requested']);
const ended: ReadonlySet<string> = new Set([
  ...['tool.completed', 'tool.failed', 'tool.denied', 'tool.unknown'],
  ...['model.completed', 'model.failed', 'model.denied'],
]);
const lent: ReadonlySet<string> = new Set([
  ...['budget.requested', 'budget.granted', 'budget.refused', 'budget.returned'],
]);
/** Places of pools: the ones of before wait for ever, or are given back by who never had them. */
const places: ReadonlySet<string> = new Set([
  ...['permit.requested', 'permit.granted', 'permit.returned'],
]);
const overTypes: ReadonlySet<string> = new Set([
  ...['session.completed', 'session.failed', 'session.cancelled', 'session.closed'],
]);
const timers: ReadonlySet<string> = new Set(['timer.set', 'timer.cancelled', 'timer.fired']);
/** Members of events that are times to come, or times that waits are counted from. */
const times = ['dueAtMs', 'deadlineAtMs', 'openedAtMs', 'untilMs'];

const textIn = (event: SeenEvent, name: string): string =>
  String((event.data as unknown as JsonObject)[name] ?? '');

/** What stood at the point of the fork. */
export type PastEnd = Readonly<{
  core: SessionCore;
  /** Calls under way, by id, with the event that asked for each. */
  open: ReadonlyMap<string, SeenEvent>;
  /** What ended the session; undefined where it was open. */
  over?: SeenEvent;
  /** Child sessions that were asked for and had not ended: their ends go to the session that asked, and to no fork. */
  children: ReadonlySet<string>;
}>;

const steps = new WeakMap<object, readonly PastStep[]>();

/** The records of a past with what they brought, those of a past that it shares itself first. */
function foldPast(past: readonly PlacedRecord[], session: string): readonly PastStep[] {
  const known = steps.get(past);
  if (known !== undefined) return known;
  let core = unknownSession(session);
  const folded = past.flatMap((record) => {
    const step = foldCore(core, record);
    core = step.core;
    const [first] = step.events;
    const before = first?.type === 'session.forked' ? pastOf(record, first)?.steps('') : undefined;
    return [...(before ?? []), { record, step }];
  });
  steps.set(past, folded);
  return folded;
}

/** What stands at the end of these records of a session. */
export function endOfPast(past: readonly PlacedRecord[], session: string): PastEnd {
  const open = new Map<string, SeenEvent>();
  const children = new Set<string>();
  let over: SeenEvent | undefined;
  const folded = foldPast(past, session);
  for (const event of folded.flatMap(({ step }) => step.events)) {
    if (asked.has(event.type)) open.set(textIn(event, 'call'), event);
    else if (ended.has(event.type)) open.delete(textIn(event, 'call'));
    else if (overTypes.has(event.type)) over ??= event;
    else if (event.type === 'child.requested') children.add(event.data.child);
    else if (event.type === 'child.ended') children.delete(event.data.child);
  }
  const core = folded.at(-1)?.step.core ?? unknownSession(session);
  return { core, open, children, ...(over === undefined ? {} : { over }) };
}

const isOfCall = (timer: string, calls: Iterable<string>): boolean =>
  [...calls].some((call) => timer.includes(call));

/** What is set at the end and is not about a call that is asked for anew. */
export function timersOf({ core, open }: PastEnd, shiftMs: number): readonly ForkedTimer[] {
  return Object.entries(core.timers)
    .filter(([timer]) => !isOfCall(timer, open.keys()))
    .map(([timer, { record, index, service, dueAtMs }]: [string, TimerSetting]) => ({
      ...{ timer, record, index, service, dueAtMs: dueAtMs + shiftMs },
    }));
}

/** The id under which the fork asks for a call that was under way: nobody on the other side may take it for the old one. */
export const forkedCallId = (fork: string, call: string): string => callId(fork, call, 0);

/** One past as one fork shares it. */
export class Past {
  private readonly folded: readonly PastStep[];
  private readonly forked: Forked;
  private readonly settings: readonly Setting[];
  private readonly renamed: ReadonlyMap<string, string>;
  private readonly shown = new Map<boolean, readonly PastStep[]>();

  constructor(past: readonly PlacedRecord[], forked: Forked) {
    this.folded = foldPast(past, forked.data.of);
    this.forked = forked;
    const { settings } = forked.content;
    this.settings = settings === undefined ? [] : (bodyOf(settings) as unknown as Setting[]);
    this.renamed = new Map(forked.data.calls.map(({ was, call }) => [was, call]));
  }

  /** As this service sees it: who asks for a tool does not know what the guard will say of it. */
  steps(service: string): readonly PastStep[] {
    const isGuard = service === 'tool-guard';
    const known = this.shown.get(isGuard);
    if (known !== undefined) return known;
    const settings = this.settings.filter(({ what }) => isGuard || what !== 'policy');
    const shown = this.folded.map(({ record, step }) => ({
      record,
      step: { ...step, events: step.events.flatMap((event) => this.show(event, settings)) },
    }));
    this.shown.set(isGuard, shown);
    return shown;
  }

  private show(event: SeenEvent, settings: readonly Setting[]): SeenEvent[] {
    if (this.isLeft(event)) return [];
    const changed = changeEvent(event as never, settings) as unknown as SeenEvent;
    const data: Record<string, unknown> = { ...(changed.data as object) };
    const { shiftMs } = this.forked.data;
    for (const name of times)
      if (typeof data[name] === 'number') data[name] = (data[name] as number) + shiftMs;
    const call = this.renamed.get(textIn(event, 'call'));
    if (call !== undefined) data['call'] = call;
    return [{ ...changed, data, atMs: event.atMs + shiftMs } as unknown as SeenEvent];
  }

  /** Whether it stays with the session whose past it is (F2, F3). */
  private isLeft(event: SeenEvent): boolean {
    if (lent.has(event.type)) return true;
    if (places.has(event.type)) return this.forked.data.placesAnew === true;
    if (timers.has(event.type)) return isOfCall(textIn(event, 'timer'), this.renamed.keys());
    return this.renamed.has(textIn(event, 'call')) && !asked.has(event.type);
  }
}

const pasts = new WeakMap<object, Past>();

/** The past that an opening shares; undefined where whoever read the record did not read that too. */
export function pastOf({ body }: PlacedRecord, forked: Forked): Past | undefined {
  if (body.kind !== 'input' || body.past === undefined) return undefined;
  const known = pasts.get(body) ?? new Past(body.past, forked);
  pasts.set(body, known);
  return known;
}

/** `record#index` of every event of it. */
export const addressesOf = (past: Past): readonly string[] =>
  past.steps('').flatMap(({ step }) => step.events.map(addressOf));
