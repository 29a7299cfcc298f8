import { type Draft, event, type SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import {
  addressOf,
  type DecideInput,
  type ServiceLogic,
} from '../chassis/protocol/service-logic.ts';

/**
 * Which records of a source partition are stored next. One session of `longrein.sinks` follows one
 * partition: it fixes a range in its log before anything is written, and only a fixed range is
 * written, always under the same name.
 *
 * R1 Ranges of a partition follow each other without gap or overlap; the bounds of a fixed range
 * never change.
 * R2 At most one range is fixed and not stored.
 */

/** A range that somebody may be writing now. */
export type FixedRange = Readonly<{
  call: string;
  attempt: number;
  from: number;
  /** Offset after the last record. */
  to: number;
  needFrom: number;
  /** Address of the newest claim, `record#index`. */
  claim: string;
}>;

export type SinkState = Readonly<{
  /** Empty before the opening. */
  topic: string;
  partition: number;
  /** How often the topic was made; absent for the first one. Offsets of two have nothing to do with each other. */
  made?: number;
  /** Offset after the last stored record. */
  next: number;
  /** Where reading must start so that everything from `next` on is judged right. */
  needFrom: number;
  fixed: FixedRange | null;
}>;

/** What the process knows about the source partition; `cut` and `needFrom` are offsets. */
export type SinkFacts = Readonly<{
  /** Where the next range would end: offset after its last record, not above what was read. */
  cut: number;
  rows: number;
  /** How long the oldest of them has waited, in milliseconds. */
  waitedMs: number;
  needFrom: number;
  /** Address of the claim that is known to be run by nobody here; empty: none. */
  abandoned: string;
}>;

export const serviceName = 'event-store';
/** So many rows are worth an insert of their own. */
export const rowsEnough = 2_000;
/** Fewer rows wait no longer than this, in milliseconds. */
export const waitEnoughMs = 200;
/**
 * A write is tried until it succeeds, and repeating it is harmless: the deadline only has to be
 * later than any outage.
 */
const deadlineMs = 86_400_000;

const initial: SinkState = { topic: '', partition: -1, next: -1, needFrom: -1, fixed: null };

/** What rows call a topic: with its number where it was made again, so that no two records have one place. */
export const storedName = (topic: string, made?: number): string =>
  made === undefined || made === 1 ? topic : `${topic}#${made}`;

/** The log of this partition's ranges. */
export const sinkSession = (topic: string, partition: number, made?: number): string =>
  `sink_${storedName(topic, made)}/${partition}`;

/** Names the rows of a range at the database: the same range has the same rows, for ever. */
export const tokenOf = (state: SinkState, range: Pick<FixedRange, 'from' | 'to'>): string =>
  `${storedName(state.topic, state.made)}/${state.partition}/${range.from}-${range.to}`;

export const isDue = (facts: Pick<SinkFacts, 'rows' | 'waitedMs'>): boolean =>
  facts.rows >= rowsEnough || (facts.rows > 0 && facts.waitedMs >= waitEnoughMs);

function fix(state: SinkState, seen: SeenEvent<'range.fixed'>): SinkState {
  const { call, attempt, from, to, needFrom } = seen.data;
  // A range that was stored while the claim was on its way to the log.
  if (from !== state.next) return state;
  return { ...state, fixed: { call, attempt, from, to, needFrom, claim: addressOf(seen) } };
}

function evolve(state: SinkState, seen: SeenEvent): SinkState {
  switch (seen.type) {
    case 'sink.opened': {
      if (state.topic !== '') return state;
      const { topic, partition, fromOffset, made } = seen.data;
      const place = { topic, partition, ...(made === undefined ? {} : { made }) };
      return { ...place, next: fromOffset, needFrom: fromOffset, fixed: null };
    }
    case 'range.fixed':
      return fix(state, seen);
    case 'range.stored': {
      const { fixed } = state;
      if (fixed === null || fixed.call !== seen.data.call) return state;
      return { ...state, next: fixed.to, needFrom: fixed.needFrom, fixed: null };
    }
    default:
      return state;
  }
}

function fixedAgain(state: SinkState, range: FixedRange, nowMs: number): Draft {
  const { topic, partition } = state;
  const { claim: _gone, ...bounds } = range;
  const attempt = range.attempt + 1;
  const deadlineAtMs = nowMs + deadlineMs;
  return event('range.fixed', { ...bounds, attempt, deadlineAtMs, topic, partition });
}

function decide(state: SinkState, input: DecideInput<SinkFacts & JsonObject>): Draft[] {
  const { facts, lost, nowMs } = input;
  const { topic, partition, fixed, next } = state;
  if (topic === '') return [];
  if (fixed !== null) {
    const gone = lost[fixed.call] !== undefined || facts.abandoned === fixed.claim;
    return gone ? [fixedAgain(state, fixed, nowMs)] : [];
  }
  if (facts.cut <= next || !isDue(facts)) return [];
  const call = `${storedName(topic, state.made)}/${partition}/${next}`;
  const bounds = { from: next, to: facts.cut, needFrom: facts.needFrom };
  const deadlineAtMs = nowMs + deadlineMs;
  return [event('range.fixed', { call, attempt: 1, deadlineAtMs, topic, partition, ...bounds })];
}

export const eventStoreLogic: ServiceLogic<SinkState, SinkFacts & JsonObject> = {
  name: serviceName,
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => initial,
  evolve,
  answers: (seen) => seen.type === 'sink.opened' || seen.type === 'range.stored',
  decide,
};
