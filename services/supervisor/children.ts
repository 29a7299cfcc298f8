/** Tasks that belong to another one: how they are made, found, and dropped. */

import type { TaskDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type DataOf, event, json, type SeenEvent } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { taskFold } from '../../state-machines/task/task-machine.ts';
import { childId } from '../chassis/catalog/child-task.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import type { Child, SupervisorState, TaskState } from './state.ts';

type Expanded = SeenEvent<'task.expanded'>;

/** Children of the task that are kept, in their order. */
export const childrenOf = (state: SupervisorState, task: string): readonly TaskState[] =>
  state.tasks.filter(({ child }) => child?.of === task);

/** Gives a task its next children, one for each scope. */
export function expand(
  proposal: Proposal<SupervisorState>,
  { definition, children }: TaskState,
  of: Readonly<{
    kind: DataOf<'task.expanded'>['kind'];
    scopes: readonly JsonObject[];
    deadlineAtMs?: number | undefined;
  }>,
): void {
  const { kind, scopes, deadlineAtMs } = of;
  const task = definition.id;
  const place = { first: (children ?? 0) + 1, count: scopes.length };
  const head = { task, attempt: 1, kind, ...place, begins: children === undefined };
  const data = deadlineAtMs === undefined ? head : { ...head, deadlineAtMs };
  proposal.write(event('task.expanded', data, { scopes: json(scopes as JsonValue) }));
}

/** The task's children as the event names them. */
export function bornBy(parent: TaskState, expanded: Expanded): readonly TaskState[] {
  const { kind, first } = expanded.data;
  const scopes = bodyOf(expanded.content.scopes) as readonly JsonObject[];
  return scopes.map((scope, index) => {
    const child = { of: parent.definition.id, kind, ordinal: first + index, scope };
    return {
      definition: definitionOf(parent.definition, child),
      machine: taskFold.initial(),
      needed: true,
      dueAtMs: 0,
      fired: null,
      failure: null,
      output: null,
      child,
    };
  });
}

/** Its input is looked up where it is needed: a thousand branches would hold it a thousand times. */
function definitionOf(of: TaskDefinition, child: Child): TaskDefinition {
  const { fanOut, review, loop: _loop, ...rest } = of;
  const own = child.kind === 'review' ? review : fanOut?.branches?.[child.ordinal - 1];
  return {
    ...rest,
    id: childId(of.id, child.ordinal),
    pool: own?.pool ?? of.pool,
    agent: own?.agent ?? of.agent,
    needs: [],
    input: null,
    onFailure: 'continue',
  };
}

/** The template of a child's input. */
export function inputOfChild({ fanOut, review, input }: TaskDefinition, child: Child): JsonValue {
  if (child.kind === 'review') return review?.input ?? null;
  return fanOut?.branches?.[child.ordinal - 1]?.input ?? input;
}
