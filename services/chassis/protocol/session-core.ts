import type { EventAddress, SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { ablated } from '../ablation.ts';
import { withMember, withoutMember } from '../effects/member.ts';
import { cancels, claimTypes, openings, outcomes } from './event-kinds.ts';
import { type Language, releaseLanguage } from './language.ts';
import type { InputBody, PlacedRecord, TurnBody } from './record.ts';
import { isRemembered, type Remembered, remember } from './remembered-inputs.ts';
import { seen } from './seen-event.ts';
import { addressOf, type OpenCall, type SessionMeta } from './service-logic.ts';
import { type StandBy, type StrangeEvent, understood } from './stand-by.ts';

/**
 * What every reader knows of a session, whatever service it is (DESIGN 3, the second step of the rule).
 *
 * C1 An input is effective the first time its id appears in its open session.
 * C2 A turn is effective if its session is open and every record that it foresaw is effective.
 * C3 An outcome counts once, and only for a claim that is open (or was declared unknown); else it is late.
 * C4 A timer fires once per setting, never before it is due, never when the setting was superseded.
 * C5 After `session.closed` nothing is effective.
 * C6 An event that this release does not understand is effective like any other. Where it may concern these rules
 *    themselves, what they say of the session from there on is a guess, and nobody here decides by it.
 */

export type TimerSetting = EventAddress & Readonly<{ dueAtMs: number; service: string }>;

type CallState = OpenCall & Readonly<{ claims: readonly string[] }>;

export type SessionCore = Remembered &
  Readonly<{
    status: 'unknown' | 'cancelled-early' | 'open' | 'closed';
    meta: SessionMeta;
    /** The newest effective record. */
    last: Readonly<{ record: string; offset: number; atMs: number }>;
    /** The newest effective turns, by id, and inputs that can be foreseen, by id and offset; for C2. */
    recent: readonly string[];
    timers: Readonly<Record<string, TimerSetting>>;
    calls: Readonly<Record<string, CallState>>;
    /** Services whose decision failed in this session: they decide no more in it. */
    failed: readonly string[];
    /** A cancel that came before the opening. */
    earlyCancel?: SeenEvent;
    /** Everybody stands by (C6). */
    standBy?: StandBy;
  }>;

export type Ignored =
  | 'not-accepted'
  | 'unknown-session'
  | 'closed'
  | 'duplicate'
  | 'late'
  | 'superseded'
  | 'foreseen-void';

/** `events` are what the record really brings; none, with a reason, where it is ignored. */
export type CoreStep = Readonly<{
  core: SessionCore;
  events: readonly SeenEvent[];
  ignored?: Ignored;
  /** Those of the events that this release does not understand. */
  strange?: readonly StrangeEvent[];
}>;

const recentMax = 64;

export function unknownSession(session: string): SessionCore {
  return {
    status: 'unknown',
    meta: { session, tenant: '', principal: '', labels: {} },
    last: { record: '', offset: -1, atMs: 0 },
    recent: [],
    inputs: {},
    timers: {},
    calls: {},
    failed: [],
  };
}

type Folding<B> = Readonly<{ record: PlacedRecord; body: B; language: Language }>;
type Strange = Readonly<{ event: SeenEvent; strange: StrangeEvent }>;
const text = (data: JsonObject, name: string): string => String(data[name] ?? '');

const lastOf = (core: SessionCore, record: PlacedRecord, atMs: number): SessionCore['last'] => ({
  record: record.header.id,
  offset: record.offset,
  atMs: Math.max(core.last.atMs, atMs),
});

export const withRecent = ({ recent }: SessionCore, one: string): readonly string[] => [
  ...recent.slice(-(recentMax - 1)),
  one,
];

/** An outcome's id is the same whoever writes it: a turn foresaw the one in its own batch. */
export const placeOfInput = (id: string, offset: number): string => `${id}@${offset}`;

/** After an effective input. */
function moved(core: SessionCore, record: PlacedRecord, atMs: number): SessionCore {
  const next = { ...core, last: lastOf(core, record, atMs) };
  const { body, header, offset } = record;
  if (body.kind !== 'input' || body.foreseeable !== true) return next;
  return { ...next, recent: withRecent(core, placeOfInput(header.id, offset)) };
}

/** Whether all that a turn foresaw came true: turns, and the input that began its batch. */
function cameTrue(core: SessionCore, { header, offset }: PlacedRecord, body: TurnBody): boolean {
  const begin = offset - header.batchIndex;
  // What a turn foresaw is among the newest.
  const came = (one: string): boolean => core.recent.lastIndexOf(one) >= 0;
  return body.foreseen.every((id) => came(id) || came(placeOfInput(id, begin)));
}

const ignore = (core: SessionCore, ignored: Ignored): CoreStep => ({ core, events: [], ignored });

/** A fork says itself what is set at its beginning: only services need the past that it shares. */
function sharedTimers({ data }: SeenEvent<'session.forked'>): SessionCore['timers'] {
  return Object.fromEntries(data.timers.map(({ timer, ...setting }) => [timer, setting]));
}

function openSession(core: SessionCore, record: PlacedRecord, event: SeenEvent): CoreStep {
  const body = record.body as InputBody;
  const { tenant, principal, labels } = body;
  const early = core.earlyCancel;
  const { earlyCancel: _early, ...rest } = core;
  const opened: SessionCore = {
    ...rest,
    status: 'open',
    meta: { session: body.session, tenant, principal, labels },
    inputs: { ...core.inputs, [record.header.id]: body.atMs },
    ...(event.type === 'session.forked' ? { timers: sharedTimers(event) } : {}),
  };
  const events = early === undefined ? [event] : [event, early];
  return { core: moved(opened, record, body.atMs), events };
}

/** Without readers an event may be one that the rules of the log themselves use. */
function standingBy(core: SessionCore, { readers, standBy }: StrangeEvent): SessionCore {
  return readers !== undefined || core.standBy !== undefined ? core : { ...core, standBy };
}

/** An input that is not understood: it may open a session, so its place must not be forgotten. */
function foldStrange(core: SessionCore, record: PlacedRecord, what: Strange): CoreStep {
  const { event, strange } = what;
  if (core.status !== 'open') return ignore(standingBy(core, strange), 'unknown-session');
  if (isRemembered(core, event.record)) return ignore(core, 'duplicate');
  const remembered = remember(core, event.record, event.atMs);
  const next = { ...standingBy(core, strange), ...remembered };
  return { core: moved(next, record, event.atMs), events: [event], strange: [strange] };
}

function beforeOpening(core: SessionCore, record: PlacedRecord, event: SeenEvent): CoreStep {
  if (openings.has(event.type)) return openSession(core, record, event);
  if (core.status === 'cancelled-early') return ignore(core, 'duplicate');
  if (!cancels.has(event.type) || ablated('8c')) return ignore(core, 'unknown-session');
  const inputs = { [record.header.id]: event.atMs };
  const early: SessionCore = { ...core, status: 'cancelled-early', inputs, earlyCancel: event };
  return { ...ignore(moved(early, record, event.atMs), 'unknown-session') };
}

function settleCall(core: SessionCore, record: PlacedRecord, event: SeenEvent): CoreStep {
  const data = event.data as unknown as JsonObject;
  const call = core.calls[text(data, 'call')];
  const open = call?.claims.includes(text(data, 'claim')) === true;
  if (!open && !ablated('9f')) return ignore(core, 'late');
  const settled = { ...core, calls: withoutMember(core.calls, text(data, 'call')) };
  return { core: moved(settled, record, event.atMs), events: [event] };
}

function fireTimer(core: SessionCore, record: PlacedRecord, event: SeenEvent): CoreStep {
  const data = event.data as unknown as JsonObject;
  const timer = text(data, 'timer');
  const setting = core.timers[timer];
  const same = setting?.record === data['record'] && setting?.index === data['index'];
  const current = setting !== undefined && same;
  const early = event.atMs < Number(data['dueAtMs']);
  if ((!current && !ablated('10b')) || (early && !ablated('10a')))
    return ignore(core, 'superseded');
  const fired = { ...core, timers: withoutMember(core.timers, timer) };
  return { core: moved(fired, record, event.atMs), events: [event] };
}

function foldInput(core: SessionCore, { record, body, language }: Folding<InputBody>): CoreStep {
  const { id } = record.header;
  const source = { service: 'input', incarnation: body.incarnation ?? '', atMs: body.atMs };
  const known = understood(language, body.event, { record, index: 0 });
  const event = seen(known.event, { record: id, index: 0 }, source);
  if (core.status === 'closed') return ignore(core, outcomes.has(event.type) ? 'late' : 'closed');
  if (known.strange !== undefined) return foldStrange(core, record, { ...known, event } as Strange);
  if (core.status !== 'open') return beforeOpening(core, record, event);
  if (outcomes.has(event.type)) return settleCall(core, record, event);
  if (event.type === 'timer.fired') return fireTimer(core, record, event);
  if (isRemembered(core, id) && !ablated('8a')) return ignore(core, 'duplicate');
  const next = { ...core, ...remember(core, id, body.atMs) };
  return { core: moved(next, record, body.atMs), events: [event] };
}

/** A claim that was made again while the outcome was on its way opens nothing: the call is settled. */
function claimCall(core: SessionCore, event: SeenEvent): SessionCore {
  const data = event.data as unknown as JsonObject;
  const call = text(data, 'call');
  if (core.calls[call] === undefined && Number(data['attempt']) > 1) return core;
  const claim = addressOf(event);
  const state: CallState = {
    status: 'claimed',
    service: event.service,
    claim,
    claims: [...(core.calls[call]?.claims ?? []), claim],
    incarnation: event.incarnation,
    attempt: Number(data['attempt']),
    deadlineAtMs: Number(data['deadlineAtMs']),
  };
  return { ...core, calls: withMember(core.calls, call, state) };
}

function markUnknown(core: SessionCore, call: string): SessionCore {
  const state = core.calls[call];
  if (state === undefined) return core;
  return { ...core, calls: withMember(core.calls, call, { ...state, status: 'unknown' }) };
}

/** What one event of a turn means to every reader. */
function foldTurnEvent(core: SessionCore, event: SeenEvent): SessionCore {
  if (claimTypes.has(event.type)) return claimCall(core, event);
  switch (event.type) {
    case 'tool.unknown':
      return markUnknown(core, event.data.call);
    case 'model.denied':
      return { ...core, calls: withoutMember(core.calls, event.data.call) };
    case 'timer.set': {
      const { record, index, service } = event;
      const setting = { record, index, service, dueAtMs: event.data.dueAtMs };
      return { ...core, timers: withMember(core.timers, event.data.timer, setting) };
    }
    case 'timer.cancelled':
      return { ...core, timers: withoutMember(core.timers, event.data.timer) };
    case 'decision.failed':
      return { ...core, failed: [...core.failed, event.data.service] };
    case 'session.closed':
      return { ...core, status: 'closed' };
    default:
      return core;
  }
}

function foldTurn(core: SessionCore, { record, body, language }: Folding<TurnBody>): CoreStep {
  if (core.status === 'closed') return ignore(core, 'closed');
  if (core.status !== 'open') return ignore(core, 'unknown-session');
  if (!cameTrue(core, record, body) && !ablated('5a')) return ignore(core, 'foreseen-void');
  const { id } = record.header;
  let next: SessionCore = {
    ...core,
    last: lastOf(core, record, body.atMs),
    recent: withRecent(core, id),
  };
  const source = { service: body.service, incarnation: body.incarnation, atMs: body.atMs };
  const events: SeenEvent[] = [];
  const strange: StrangeEvent[] = [];
  for (const [index, one] of body.events.entries()) {
    const known = understood(language, one, { record, index });
    const event = seen(known.event, { record: id, index }, source);
    events.push(event);
    if (known.strange !== undefined) {
      strange.push(known.strange);
      next = standingBy(next, known.strange);
    } else next = foldTurnEvent(next, event);
    if (next.status === 'closed') break;
  }
  return { core: next, events, ...(strange.length === 0 ? {} : { strange }) };
}

/** Takes an accepted turn or input into what is known of its session. */
export function foldCore(
  core: SessionCore,
  record: PlacedRecord,
  language: Language = releaseLanguage,
): CoreStep {
  const { body } = record;
  if (body.kind === 'input') return foldInput(core, { record, body, language });
  if (body.kind === 'turn') return foldTurn(core, { record, body, language });
  return { core, events: [] };
}
