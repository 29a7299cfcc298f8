/**
 * What of a session is over, for services that must not begin or go on with it. Owns no policy: the
 * supervisor and the aggregator say what ends, this only remembers it.
 */

import type { EventType, SeenEvent } from '../../../schemas/event.ts';
import { type Members, memberOf, withMember } from './member.ts';

/** `tasks`: the highest attempt of each task that was stopped. */
export type EndedWork = Readonly<{ session: boolean; tasks: Members<number> }>;

export type EndedBecause = 'session-ended' | 'task-ended';

export const nothingEnded: EndedWork = { session: false, tasks: {} };

/** The events that end work: causes of who has to stop. */
export const endings: ReadonlySet<EventType> = new Set<EventType>([
  'session.completed',
  'session.failed',
  'session.cancelled',
  'session.closed',
  'task.timed-out',
  'task.cancelled',
  'task.abandoned',
]);

function endTask(ended: EndedWork, task: string, attempt: number): EndedWork {
  if ((memberOf(ended.tasks, task) ?? -1) >= attempt) return ended;
  return { ...ended, tasks: withMember(ended.tasks, task, attempt) };
}

/** The same object when the event ends nothing. */
export function foldEnded(ended: EndedWork, event: SeenEvent): EndedWork {
  switch (event.type) {
    case 'session.completed':
    case 'session.failed':
    case 'session.cancelled':
    case 'session.closed':
      return ended.session ? ended : { ...ended, session: true };
    case 'task.timed-out':
    case 'task.cancelled':
      return endTask(ended, event.data.task, event.data.attempt);
    case 'task.abandoned':
      return endTask(ended, event.data.task, event.data.attempts);
    default:
      return ended;
  }
}

/** Why work for this attempt must stop; undefined while it may go on. */
export function endedBecause(
  ended: EndedWork,
  task: string,
  attempt: number,
): EndedBecause | undefined {
  if (ended.session) return 'session-ended';
  return (memberOf(ended.tasks, task) ?? -1) >= attempt ? 'task-ended' : undefined;
}
