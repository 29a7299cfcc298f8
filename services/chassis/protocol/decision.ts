import { type Draft, event, text } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import { LongreinError, toError } from '../errors.ts';
import { deliveriesOf } from './dead-letter.ts';
import type { RecordPlace, Refused } from './record.ts';
import { type Cause, type ServiceEntry, standByOf } from './service-fold.ts';
import {
  type AnyLogic,
  addressOf,
  type DecideInput,
  type Delivery,
  type LostReason,
} from './service-logic.ts';
import { problemOfDraft } from './validate.ts';

/** All from outside the log that one decision uses. The turn records it; `verify` decides again from it. */
export type FactsInput = Readonly<{
  nowMs: number;
  /** Addresses of events whose deliveries were acknowledged. */
  delivered: readonly string[];
  lost: Readonly<Record<string, LostReason>>;
  /** Deliveries that the broker will never take, by the address of their event. */
  refused?: Readonly<Record<string, Refused>>;
  /** The broker took no turn of the size that this state leads to. */
  turnRefused?: Refused;
  /** Why this is not decided any more: hosts died of it, or what comes of it never counts. */
  poison?: Refused;
  /** What the decision starts from, in the log; given where it is known to fail. */
  origin?: RecordPlace;
  service: JsonObject;
  attachments: Readonly<Record<string, JsonValue>>;
}>;

export const noFacts = (nowMs: number): FactsInput => ({
  nowMs,
  delivered: [],
  lost: {},
  service: {},
  attachments: {},
});

export const destinationOf = (delivery: Delivery): string =>
  delivery.to === 'log' ? `${delivery.topic}/${delivery.session}` : delivery.topic;

function acknowledgements(
  logic: AnyLogic,
  entry: ServiceEntry,
  delivered: readonly string[],
): Draft[] {
  return delivered.flatMap((address) => {
    const sent = entry.outbox[address];
    if (sent === undefined) return [];
    const destinations = deliveriesOf(logic, sent, entry.core.meta).map(destinationOf);
    return [
      event('delivery.acknowledged', { record: sent.record, index: sent.index, destinations }),
    ];
  });
}

/** DESIGN 3.12: closed, so that nothing waits for what cannot arrive. */
function refusals(entry: ServiceEntry, { refused = {} }: FactsInput): Draft[] {
  return Object.entries(refused).flatMap(([address, { code, message }]) => {
    const sent = entry.outbox[address];
    if (sent === undefined) return [];
    const data = { record: sent.record, index: sent.index, code };
    return [event('delivery.refused', data, { message: text(message) })];
  });
}

/** A turn names so many of its causes; it answers all up to its base, named or not (DESIGN 3.7). */
export const listedCauses = (entry: ServiceEntry): readonly Cause[] =>
  entry.causes.slice(0, limits.turnCausesMax);

function inputOf(entry: ServiceEntry, facts: FactsInput): DecideInput {
  return {
    session: entry.core.meta,
    nowMs: facts.nowMs,
    facts: facts.service,
    attachments: facts.attachments,
    causes: listedCauses(entry).map((cause) => cause.event),
    openCalls: ablated('8d') ? {} : entry.core.calls,
    lost: facts.lost,
  };
}

/** What a decision starts from: its first open cause, else the newest record that it has seen. */
export function beginningOf({ causes, core }: ServiceEntry): { record: string; offset: number } {
  const [first] = causes;
  if (first === undefined) return { record: core.last.record, offset: core.last.offset };
  return { record: first.event.record, offset: first.offset };
}

type Deciding = Readonly<{ logic: AnyLogic; facts: FactsInput }>;

function failed({ logic, facts }: Deciding, thrown: unknown): Draft[] {
  const error = toError(thrown);
  const code = error instanceof LongreinError ? error.code : 'DECISION_THREW';
  const { origin } = facts;
  const data = { service: logic.name, code, ...(origin === undefined ? {} : { origin }) };
  return [event('decision.failed', data, { message: text(error.message) })];
}

/** Whether these drafts say that their service could not decide. */
export const hasFailed = (drafts: readonly Draft[]): boolean =>
  drafts.some(({ type }) => type === 'decision.failed');

/** What a content takes in a record when its body is in a blob. */
const contentNameBytes = 256;
/** What JSON puts around type and data of an event. */
const eventFrameBytes = 40;
/** Ids, times and names in the body and in the headers, of any turn. */
const turnFrameBytes = 4_096;
/** The address of a cause, at its longest. */
const causeBytes = 192;

/** As many as its canonical form has: only the order of members differs. */
const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value), 'utf8');

function draftBytes({ type, data, content }: Draft): number {
  const contents = Object.keys(content ?? {}).length * contentNameBytes;
  return type.length + eventFrameBytes + bytesOf(data) + contents;
}

/** What a record's value takes besides its events, all its contents in blobs. */
function frameBytes(entry: ServiceEntry, facts: FactsInput): number {
  const { attachments, ...recorded } = facts;
  const named = listedCauses(entry).length * causeBytes;
  const attached = Object.keys(attachments).length * contentNameBytes;
  return turnFrameBytes + named + attached + bytesOf(recorded) + bytesOf(entry.core.meta);
}

/** More than JSON ever writes for a number or a word. */
const plainBytesMax = 26;

/** At least as many bytes as the value has as JSON, found without writing it. */
function bytesAtMost(value: unknown): number {
  // A character takes six bytes at most, where it is escaped.
  if (typeof value === 'string') return 6 * value.length + 2;
  if (typeof value !== 'object' || value === null) return plainBytesMax;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const one of value) bytes += bytesAtMost(one) + 1;
    return bytes;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(object)) bytes += 6 * name.length + 4 + bytesAtMost(object[name]);
  return bytes;
}

/** Hardly any turn comes near the limits: that is seen without its bytes. */
function isFarFromLimits(drafts: readonly Draft[], entry: ServiceEntry, facts: FactsInput) {
  let bytes =
    turnFrameBytes + listedCauses(entry).length * causeBytes + bytesAtMost(entry.core.meta);
  for (const [name, fact] of Object.entries(facts))
    bytes +=
      name === 'attachments'
        ? Object.keys(facts.attachments).length * contentNameBytes
        : 2 * plainBytesMax + bytesAtMost(fact);
  // The headers name the types once more.
  for (const { type, data, content } of drafts)
    bytes +=
      2 * (type.length + eventFrameBytes) +
      bytesAtMost(data) +
      (content === undefined ? 0 : Object.keys(content).length * contentNameBytes);
  return (
    drafts.length <= limits.turnEventsMax &&
    bytes <= limits.turnBytesMax &&
    bytes + turnFrameBytes <= limits.recordBytesMax
  );
}

/** DESIGN 3.2: a turn that no record can hold, all its contents in blobs, is found before it is sent. */
function refuseTooLarge(drafts: readonly Draft[], entry: ServiceEntry, facts: FactsInput): void {
  if (isFarFromLimits(drafts, entry, facts)) return;
  const events = drafts.reduce((sum, draft) => sum + draftBytes(draft), 0);
  const bytes = events + frameBytes(entry, facts);
  // The headers name the type of every event.
  const headers = drafts.reduce((sum, { type }) => sum + type.length + 1, turnFrameBytes);
  const fits = bytes <= limits.turnBytesMax && bytes + headers <= limits.recordBytesMax;
  if (drafts.length <= limits.turnEventsMax && fits) return;
  const message = `${drafts.length} events of ${bytes} bytes do not fit into one turn`;
  throw new LongreinError('TURN_TOO_LARGE', message);
}

function requireValid(logic: AnyLogic, drafts: readonly Draft[]): void {
  for (const draft of drafts) {
    const problem = problemOfDraft(draft, logic.language);
    if (problem !== undefined) throw new LongreinError('EVENT_INVALID', problem);
  }
}

/** A service that failed says nothing more but what it must, and nothing at all where that fails too. */
function afterFailure(logic: AnyLogic, entry: ServiceEntry, facts: FactsInput): readonly Draft[] {
  if (logic.decideAfterFailure === undefined || facts.poison !== undefined) return [];
  try {
    const drafts = logic.decideAfterFailure(entry.state, inputOf(entry, facts));
    requireValid(logic, drafts);
    return drafts;
  } catch {
    // That the service fails is in the log already.
    return [];
  }
}

function ofLogic(logic: AnyLogic, entry: ServiceEntry, facts: FactsInput): readonly Draft[] {
  if (entry.core.failed.includes(logic.name)) return afterFailure(logic, entry, facts);
  const deciding = { logic, facts };
  const known = entry.broken ?? facts.poison ?? facts.turnRefused;
  if (known !== undefined) return failed(deciding, new LongreinError(known.code, known.message));
  try {
    const drafts = logic.decide(entry.state, inputOf(entry, facts));
    requireValid(logic, drafts);
    if (drafts.length > 0) refuseTooLarge(drafts, entry, facts);
    return drafts;
  } catch (thrown) {
    return ablated('14b') ? [] : failed(deciding, thrown);
  }
}

/**
 * What a service decides now: a pure function of its entry and the facts. A decision that throws is a fact of its
 * own (`decision.failed`, DESIGN 3.14); the service then decides no more in this session.
 */
export function decideEntry(
  logic: AnyLogic,
  entry: ServiceEntry,
  facts: FactsInput,
): readonly Draft[] {
  if (entry.core.status !== 'open' || standByOf(entry) !== undefined) return [];
  const drafts = ofLogic(logic, entry, facts);
  if (facts.delivered.length === 0 && facts.refused === undefined) return drafts;
  return [...acknowledgements(logic, entry, facts.delivered), ...refusals(entry, facts), ...drafts];
}

export const causeAddresses = (entry: ServiceEntry): readonly string[] =>
  entry.causes.map((cause) => addressOf(cause.event));
