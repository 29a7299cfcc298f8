/** Which events make a pool look at its agents. */

import type { EventType, SeenEvent } from '../../schemas/event.ts';
import { isDelegated } from '../chassis/catalog/child-task.ts';
import { endings } from '../chassis/effects/ended-work.ts';
import { agentOfTimer, agentOfWallTimer, questionOfTimer } from './state.ts';

const answerTypes: ReadonlySet<EventType> = new Set<EventType>([
  'tool.completed',
  'tool.failed',
  'tool.denied',
  'tool.unknown',
  'model.completed',
  'model.failed',
  'model.denied',
  'person.answered',
]);

/** Whether the pool of this name has to answer it. */
export function isCause(seen: SeenEvent, pool: string): boolean {
  if (seen.type === 'task.scheduled') return seen.data.pool === pool;
  if (seen.type === 'task.completed') return isDelegated(seen.data.task);
  if (seen.type === 'timer.fired') {
    const { timer } = seen.data;
    return (agentOfTimer(timer) ?? agentOfWallTimer(timer) ?? questionOfTimer(timer)) !== undefined;
  }
  return answerTypes.has(seen.type) || endings.has(seen.type);
}
