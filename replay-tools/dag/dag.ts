import { isDelegated, taskOfPlan } from '../../services/chassis/catalog/child-task.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import { type Happening, type History, textIn } from '../read/history.ts';

/** The plan of a session as a graph, with what became of each task. */

export type TaskStatus = 'pending' | 'running' | 'completed' | 'failed' | 'skipped' | 'cancelled';

export type DagTask = Readonly<{
  id: string;
  agent: string;
  pool: string;
  needs: readonly string[];
  status: TaskStatus;
  attempts: number;
  /** From its first schedule to its end, or to the newest event; 0 where it never began. */
  durationMs: number;
  code: string;
  /** 0 for tasks that need nothing; else one more than the deepest that is needed. */
  layer: number;
  /** An agent made it; `needs` says which task's. */
  made?: 'delegate' | 'handoff';
}>;

const ends: Readonly<Record<string, TaskStatus>> = {
  'task.completed': 'completed',
  'task.abandoned': 'failed',
  'task.skipped': 'skipped',
  'task.cancelled': 'cancelled',
};

type Planned = Pick<DagTask, 'id' | 'agent' | 'pool' | 'needs' | 'made'>;

function fateOf(history: History, { id }: Planned): Omit<DagTask, keyof Planned | 'layer'> {
  const own = history.whole.filter(({ scope }) => scope.task === id);
  const begun = own.filter(({ event }) => event.type === 'task.scheduled');
  const end = own.findLast(({ event }) => ends[event.type] !== undefined);
  const last: Happening | undefined = end ?? history.whole.at(-1);
  const [first] = begun;
  return {
    status: ends[end?.event.type ?? ''] ?? (first === undefined ? 'pending' : 'running'),
    attempts: begun.length,
    durationMs: first === undefined ? 0 : (last?.event.atMs ?? 0) - first.event.atMs,
    code: end === undefined ? '' : textIn(end, 'code'),
  };
}

function layersOf(tasks: readonly Planned[]): ReadonlyMap<string, number> {
  const layers = new Map<string, number>();
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const layer = (id: string): number => {
    const known = layers.get(id);
    if (known !== undefined) return known;
    // An accepted plan has no cycle; a broken one must not hang this.
    layers.set(id, 0);
    const needs = byId.get(id)?.needs ?? [];
    const own = needs.length === 0 ? 0 : 1 + Math.max(...needs.map(layer));
    layers.set(id, own);
    return own;
  };
  for (const { id } of tasks) layer(id);
  return layers;
}

/** Tasks that agents made, each below the one whose agent made it, which it belongs to as if it needed it. */
const delegatedIn = (history: History): readonly Planned[] =>
  history.ofType('task.delegated').flatMap(({ event }) => {
    if (event.type !== 'task.delegated') return [];
    const { delegated: id, to: agent, task, kind: made } = event.data;
    const scheduled = history.ofType('task.scheduled').find(({ scope }) => scope.task === task);
    const pool = scheduled === undefined ? '' : textIn(scheduled, 'pool');
    return [{ id, agent, pool, needs: [task], made }];
  });

/** The tasks of the accepted plan, in its order, then those that agents made. Throws LongreinError PLAN_NONE. */
export function dagOf(history: History): readonly DagTask[] {
  const accepted = history.whole.findLast(({ event }) => event.type === 'plan.accepted');
  if (accepted?.event.type !== 'plan.accepted') {
    const message = `${history.session} has no accepted plan`;
    throw new LongreinError('PLAN_NONE', message, { fix: 'see why: longrein replay show' });
  }
  const planned = accepted.event.data.tasks;
  const known = new Set(planned.map(({ id }) => id));
  // What a branch delegates stands below the task that the branch is of.
  const made = delegatedIn(history).map((one) => ({
    ...one,
    needs: one.needs.map((need) =>
      known.has(need) || isDelegated(need) ? need : taskOfPlan(need),
    ),
  }));
  const tasks: readonly Planned[] = [...planned, ...made];
  const layers = layersOf(tasks);
  return tasks.map(({ id, agent, pool, needs, made: kind }) => {
    const one = { id, agent, pool, needs, ...(kind === undefined ? {} : { made: kind }) };
    return { ...one, ...fateOf(history, one), layer: layers.get(id) ?? 0 };
  });
}
