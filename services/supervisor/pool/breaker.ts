/**
 * The circuit breaker of a pool, in its log: it stops giving places where attempt after attempt fails
 * for reasons that speak of the pool and not of the task.
 *
 * K1 Closed until so many attempts in a row failed so; then nobody gets a place for a time that doubles
 *    with each probe that fails.
 * K2 After that time one attempt is let through as a probe. Any attempt that completes ends the pause.
 */

import type { BreakerRules } from '../../../schemas/definitions/pool.ts';
import { type DataOf, type Draft, event, type SeenEvent } from '../../../schemas/event.ts';
import { slotOf } from './share.ts';

const coolMsMax = 300_000;
export const pauseTimer = 'supervisor/pool-pause';

type Failure = Readonly<{ code: string; class: string }>;

export type Breaker = Readonly<{
  /** Failures in a row that speak of the pool. */
  failures: number;
  last?: Failure;
  pause?: Readonly<{
    count: number;
    untilMs: number;
    /** Who tries whether the pool works again. */
    probe?: string;
    /** What an attempt has shown since the pause began, and nobody has said yet. */
    shown?: 'works' | 'fails';
  }>;
}>;

export const closedBreaker: Breaker = { failures: 0 };

const telling: ReadonlySet<string> = new Set([
  ...['timeout', 'crashed', 'unavailable', 'overloaded', 'provider-error', 'authentication'],
]);

export type Ended = DataOf<'slot.returned'>['tasks'][number];

/** Whether a failure speaks of what the breaker is for, and not of the task. */
type IsTelling = (end: Ended) => boolean;

const isOfPool: IsTelling = ({ class: kind = '' }) => telling.has(kind);

/** After an attempt that held the place `slot` has ended. */
export function afterEnd(
  before: Breaker,
  slot: string,
  { end, isTelling: tells }: Readonly<{ end: Ended; isTelling: IsTelling }>,
): Breaker {
  const { pause } = before;
  const { probe, ...rest } = pause ?? { count: 0, untilMs: 0 };
  const kept = probe === slot || probe === undefined ? rest : { ...rest, probe };
  if (end.outcome === 'completed')
    return pause === undefined
      ? closedBreaker
      : { ...closedBreaker, pause: { ...kept, shown: 'works' } };
  const isTelling = end.outcome === 'failed' && tells(end);
  if (!isTelling) return pause === undefined ? before : { ...before, pause: kept };
  const last = { code: end.code ?? '', class: end.class ?? '' };
  const failures = before.failures + 1;
  if (pause === undefined) return { failures, last };
  // One that had begun before the pause says nothing new.
  if (probe !== slot) return before;
  return { failures, last, pause: { ...kept, shown: 'fails' } };
}

/** The breaker after this event; `held` tells whether a place was still given to who gives it back. */
export function foldBreaker(
  before: Breaker,
  seen: SeenEvent,
  held: (slot: string) => boolean,
): Breaker {
  switch (seen.type) {
    case 'slot.returned': {
      const { session, tasks } = seen.data;
      return tasks.reduce((breaker, end) => {
        const slot = slotOf(session, end.task);
        return held(slot) ? afterEnd(breaker, slot, { end, isTelling: isOfPool }) : breaker;
      }, before);
    }
    case 'slot.granted': {
      const [first] = seen.data.tasks;
      if (before.pause === undefined || first === undefined) return before;
      const probe = slotOf(seen.data.session, first.task);
      return { ...before, pause: { ...before.pause, probe } };
    }
    case 'slot.expired': {
      const { pause } = before;
      if (pause?.probe !== slotOf(seen.data.session, seen.data.task)) return before;
      const { probe: _gone, ...rest } = pause;
      return { ...before, pause: rest };
    }
    case 'pool.paused': {
      const { pauses: count, untilMs, failures } = seen.data;
      return { ...before, failures, pause: { count, untilMs } };
    }
    case 'pool.resumed':
      return closedBreaker;
    default:
      return before;
  }
}

/** How many places may be given now, whatever the limits say. */
export function letsThrough({ pause }: Breaker, nowMs: number): number {
  if (pause === undefined) return Infinity;
  return pause.untilMs <= nowMs && pause.probe === undefined ? 1 : 0;
}

/** The beginning, the prolonging, or the end of a pause, where one is due. */
export function decideBreaker(
  before: Breaker,
  { pool, nowMs, rules }: { pool: string; nowMs: number; rules: BreakerRules | undefined },
): Draft[] {
  const { failures, last, pause } = before;
  if (pause !== undefined && (pause.shown === 'works' || rules === undefined))
    return [event('pool.resumed', { pool, pauses: pause.count })];
  if (rules === undefined) return [];
  const isDue = pause === undefined ? failures >= rules.failuresMax : pause.shown === 'fails';
  if (!isDue) return [];
  const pauses = (pause?.count ?? 0) + 1;
  const coolMs = Math.min(coolMsMax, rules.coolMs * 2 ** Math.min(pauses - 1, 20));
  const untilMs = nowMs + coolMs;
  const { code, class: kind } = last ?? { code: '', class: '' };
  return [
    event('pool.paused', { pool, failures, code, class: kind, pauses, untilMs }),
    event('timer.set', { timer: pauseTimer, dueAtMs: untilMs }),
  ];
}
