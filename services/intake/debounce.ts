/**
 * Goals of one key that stand for each other (`debounceMs`): each waits a while for a newer one, which takes its
 * place. Pure; part of a key log.
 *
 * D1 The wait begins anew with each goal, up to ten times the wait of the newest since the first.
 * D2 What was superseded is turned away, with the goal that stands for it.
 * D3 One that has waited in vain stands in the line of its key, and nobody takes its place any more.
 */

import { type Draft, event } from '../../schemas/event.ts';

export type Settling = Readonly<{
  /** The newest goal, which stands for the others. */
  goalLog: string;
  firstAtMs: number;
  dueAtMs: number;
  /** How many it stands for. */
  count: number;
  /** Those of them that nobody has turned away yet. */
  superseded: readonly string[];
  /** A timer is set for this time. */
  timedAtMs?: number;
}>;

export const debounceTimer = 'intake/debounce';
/** Waits since the first goal, at most. */
const waitsMax = 10;

/** With one more goal, which takes the place of the one before. */
export function settleLater(
  before: Settling | undefined,
  { goalLog, debounceMs, atMs }: Readonly<{ goalLog: string; debounceMs: number; atMs: number }>,
): Settling {
  if (before === undefined)
    return { goalLog, firstAtMs: atMs, dueAtMs: atMs + debounceMs, count: 0, superseded: [] };
  if (before.goalLog === goalLog) return before;
  const latestMs = before.firstAtMs + waitsMax * debounceMs;
  return {
    ...before,
    ...{ goalLog, dueAtMs: Math.min(atMs + debounceMs, latestMs), count: before.count + 1 },
    superseded: [...before.superseded, before.goalLog],
  };
}

/**
 * Without a goal that was turned away, that waited long enough, or that went away by itself: what the newest stood for
 * waits again, if nobody has turned it away yet. A decision may have been made before a newer goal was read.
 */
export function withoutGoal(before: Settling, goalLog: string): Settling | undefined {
  if (before.goalLog !== goalLog) {
    const superseded = before.superseded.filter((one) => one !== goalLog);
    return { ...before, superseded };
  }
  const last = before.superseded.at(-1);
  if (last === undefined) return undefined;
  return { ...before, goalLog: last, superseded: before.superseded.slice(0, -1) };
}

/** Turns away what was superseded; and the goal that waited in vain for a newer one, or a timer for it. */
export function decideSettling(settling: Settling | undefined, nowMs: number): Draft[] {
  if (settling === undefined) return [];
  const { goalLog, dueAtMs, count, superseded, timedAtMs } = settling;
  const denied = superseded.map((one) =>
    event('key.denied', { goalLog: one, waiting: 0, supersededBy: goalLog }),
  );
  if (dueAtMs <= nowMs) return [...denied, event('key.settled', { goalLog, superseded: count })];
  if (timedAtMs === dueAtMs) return denied;
  return [...denied, event('timer.set', { timer: debounceTimer, dueAtMs })];
}
