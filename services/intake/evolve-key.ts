/** The fold of a key log: its line, who has the key, and who gave it back. */

import type { SeenEvent } from '../../schemas/event.ts';
import { debounceTimer, type Settling, settleLater, withoutGoal } from './debounce.ts';
import { foldDiversion, requeued } from './diversion.ts';
import type { KeyLog } from './key-log.ts';

/** Nobody has the key, and nobody waits for it. */
export const newKeyLog: KeyLog = { kind: 'key', holder: null, queue: [], released: [] };

function request(log: KeyLog, { data, atMs }: SeenEvent<'key.requested'>): KeyLog {
  const { goalLog, debounceMs } = data;
  if (log.holder === goalLog || log.queue.includes(goalLog)) return log;
  if (data.returned === true) return requeued(log, goalLog);
  if (debounceMs === undefined) return { ...log, queue: [...log.queue, goalLog] };
  return { ...log, settling: settleLater(log.settling, { goalLog, debounceMs, atMs }) };
}

/** Events about goals that wait for a newer one; undefined where this is none of them. */
function evolveSettling(log: KeyLog, event: SeenEvent): KeyLog | undefined {
  const { settling } = log;
  if (settling === undefined) return undefined;
  switch (event.type) {
    case 'key.settled': {
      const { goalLog } = event.data;
      // One that went away meanwhile would hold the key for ever.
      const isGone = log.released.includes(goalLog);
      const queue = isGone ? log.queue : [...log.queue, goalLog];
      return withSettling({ ...log, queue }, withoutGoal(settling, goalLog));
    }
    case 'key.denied':
      if (event.data.supersededBy === undefined) return undefined;
      return withSettling(log, withoutGoal(settling, event.data.goalLog));
    case 'key.released': {
      const { goalLog } = event.data;
      // Also one that a newer has superseded: that it gets its turn may have been decided before that came.
      if (settling.goalLog !== goalLog && !settling.superseded.includes(goalLog)) return undefined;
      const released = [...log.released, goalLog];
      return withSettling({ ...log, released }, withoutGoal(settling, goalLog));
    }
    case 'timer.set':
      if (event.data.timer !== debounceTimer) return undefined;
      return { ...log, settling: { ...settling, timedAtMs: event.data.dueAtMs } };
    default:
      return undefined;
  }
}

function withSettling(
  { settling: _before, ...log }: KeyLog,
  settling: Settling | undefined,
): KeyLog {
  return settling === undefined ? log : { ...log, settling };
}

/** The key log after this event. */
export function evolveKey(before: KeyLog, event: SeenEvent): KeyLog {
  const log = foldDiversion(before, event);
  const settled = evolveSettling(log, event);
  if (settled !== undefined) return settled;
  switch (event.type) {
    case 'key.requested':
      return request(log, event);
    case 'key.released': {
      const { goalLog } = event.data;
      if (log.holder !== goalLog && !log.queue.includes(goalLog)) return log;
      // Also one that only waits: that it gets its turn may have been decided already, and is read after this.
      const queue = log.queue.filter((one) => one !== goalLog);
      return { ...log, queue, released: [...log.released, goalLog] };
    }
    case 'key.assigned':
      return {
        ...log,
        holder: event.data.goalLog,
        queue: log.queue.filter((one) => one !== event.data.goalLog),
      };
    case 'key.denied':
      return { ...log, queue: log.queue.filter((one) => one !== event.data.goalLog) };
    case 'key.freed':
      return {
        ...log,
        holder: log.holder === event.data.goalLog ? null : log.holder,
        released: log.released.filter((one) => one !== event.data.goalLog),
      };
    default:
      return log;
  }
}
