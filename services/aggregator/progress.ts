import { bodyOf, type Draft, event, json, type SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { resultsTopic } from '../../schemas/topics.ts';
import { foldTask, taskFold } from '../../state-machines/task/task-machine.ts';
import { childId } from '../chassis/catalog/child-task.ts';
import { memberOf, withMember } from '../chassis/effects/member.ts';
import { messageId } from '../chassis/protocol/ids.ts';
import { addressOf, type Delivery, type SessionMeta } from '../chassis/protocol/service-logic.ts';
import type { AggregatorState, ProgressState } from './state.ts';

/**
 * What parts of a plan give is told before the result, where the plan asks for it: a task of the plan, and a branch of a
 * fan-out that runs in this session. What a late or repeated answer says is refused by the machine of its task.
 */

export const noProgress: ProgressState = { due: [], branches: {}, underWay: [] };

const withProgress = (state: AggregatorState, progress: ProgressState): AggregatorState => ({
  ...state,
  progress,
});

/** A task of the plan gave its output; the same object where nobody asked for that. */
export function withPart(state: AggregatorState, seen: SeenEvent): AggregatorState {
  const { progress } = state;
  if (progress === undefined || seen.type !== 'task.completed') return state;
  const { task, attempt } = seen.data;
  const part = { task, attempt, output: bodyOf(seen.content.output) };
  return withProgress(state, { ...progress, due: [...progress.due, part] });
}

/** Branches come to life with their task, and have machines of their own; the same object where it is none of them. */
export function evolveBranch(state: AggregatorState, seen: SeenEvent): AggregatorState {
  const { progress } = state;
  if (progress === undefined || !seen.type.startsWith('task.')) return state;
  if (seen.type === 'task.expanded') return expanded(state, progress, seen);
  if (!('task' in seen.data)) return state;
  const { task } = seen.data;
  const known = memberOf(progress.branches, task);
  if (known === undefined) return state;
  const machine = foldTask(known, seen);
  if (machine === known) return state;
  const branches = withMember(progress.branches, task, machine);
  return withPart(withProgress(state, { ...progress, branches }), seen);
}

function expanded(
  state: AggregatorState,
  progress: ProgressState,
  { data }: SeenEvent<'task.expanded'>,
): AggregatorState {
  const { task, first, count, kind } = data;
  if (kind !== 'branch') return state;
  const born = Array.from({ length: count }, (_, place) => childId(task, first + place));
  const fresh = born.filter((id) => memberOf(progress.branches, id) === undefined);
  if (fresh.length === 0) return state;
  const added = Object.fromEntries(fresh.map((id) => [id, taskFold.initial()]));
  return withProgress(state, { ...progress, branches: { ...progress.branches, ...added } });
}

/** It was decided that they be told. */
export function told(
  state: AggregatorState,
  seen: SeenEvent<'progress.published'>,
): AggregatorState {
  const { progress } = state;
  if (progress === undefined) return state;
  const { task, attempt } = seen.data;
  const due = progress.due.filter((one) => one.task !== task || one.attempt !== attempt);
  if (due.length === progress.due.length) return state;
  return withProgress(state, {
    ...progress,
    due,
    underWay: [...progress.underWay, addressOf(seen)],
  });
}

/** One of them has reached its topic, or never will: then the result says it all the same. Undefined where it is none. */
export function arrived(
  state: AggregatorState,
  { data }: SeenEvent<'delivery.acknowledged' | 'delivery.refused'>,
): AggregatorState | undefined {
  const { progress } = state;
  const address = addressOf(data);
  if (progress?.underWay.includes(address) !== true) return undefined;
  const underWay = progress.underWay.filter((one) => one !== address);
  return withProgress(state, { ...progress, underWay });
}

/** The session has ended: the result is next. */
export const withoutParts = (state: AggregatorState): Pick<AggregatorState, 'progress'> =>
  state.progress === undefined ? {} : { progress: { ...state.progress, due: [], branches: {} } };

/** What is to be told now. */
export function progressOf({ progress, goal, session, tasks }: AggregatorState): readonly Draft[] {
  if (progress === undefined || goal === null || session.value !== 'running') return [];
  const completed = tasks.filter(({ machine }) => machine.value === 'completed').length;
  const { goalId } = goal;
  return progress.due.map(({ output, ...part }) =>
    event(
      'progress.published',
      { goalId, ...part, completed, tasks: tasks.length },
      { output: json(output) },
    ),
  );
}

/** Its message for everybody. It goes the way of the result, and so before it. */
export function progressMessage(
  { data, content, atMs }: SeenEvent<'progress.published'>,
  { session }: Pick<SessionMeta, 'session'>,
): Delivery {
  const { goalId, task, attempt, completed, tasks } = data;
  const value: JsonObject = {
    ...{ goalId, session, progress: { task, completed, tasks } },
    ...{ output: bodyOf(content.output), at: new Date(atMs).toISOString() },
  };
  const id = messageId(session, ['progress', task, String(attempt)]);
  const to = { to: 'public', topic: resultsTopic, key: session } as const;
  return { ...to, type: 'longrein.progress.v1', id, value };
}
