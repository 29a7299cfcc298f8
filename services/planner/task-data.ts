import type { TaskDefinition } from '../../schemas/definitions/plan.ts';
import type { DataOf } from '../../schemas/event.ts';

/** The structure of a task; its input template is content. */
export function taskData(task: TaskDefinition): DataOf<'plan.accepted'>['tasks'][number] {
  const { id, pool, agent, priority, timeoutMs, attemptsMax, backoffMs, onFailure } = task;
  const limits = { priority, timeoutMs, attemptsMax, backoffMs, onFailure };
  return { id, pool, agent, needs: [...task.needs], ...limits };
}
