/** The fold of revisions: the rest of the plan is made anew, what began stays. */

import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import { newTask } from './evolve-task.ts';
import type { SupervisorState } from './state.ts';

type RevisionEvent = SeenEvent<
  'plan.revision-requested' | 'plan.revised' | 'plan.revision-refused'
>;

export function evolveRevision(state: SupervisorState, seen: RevisionEvent): SupervisorState {
  const { replan } = state;
  if (replan === undefined) return state;
  switch (seen.type) {
    case 'plan.revision-requested':
      return { ...state, replan: { ...replan, asked: true, revisions: seen.data.revision } };
    case 'plan.revision-refused':
      if (seen.data.again === true || replan.asked !== true) return state;
      return { ...state, replan: { ...replan, asked: false, over: true } };
    case 'plan.revised':
      return replan.asked === true ? revised(state, seen) : state;
  }
}

/** One that was skipped would else be done with, whatever the new plan says of it. */
const neverBegun: ReadonlySet<string> = new Set(['pending', 'skipped']);

/** What began stays as it is; the others are those of the new plan. */
function revised(state: SupervisorState, seen: SeenEvent<'plan.revised'>): SupervisorState {
  const plan = bodyOf(seen.content.plan) as unknown as PlanDefinition;
  const agents = state.catalog?.agents ?? {};
  const known = new Map(state.tasks.map((task) => [task.definition.id, task]));
  const planned = plan.tasks.map((task) => {
    const before = known.get(task.id);
    return before === undefined || neverBegun.has(before.machine.value)
      ? newTask(task, plan, agents)
      : before;
  });
  const kept = new Set(planned.map(({ definition }) => definition.id));
  const children = state.tasks.filter(({ child }) => child !== undefined && kept.has(child.of));
  const replan = state.replan === undefined ? undefined : { ...state.replan, asked: false };
  return { ...state, tasks: [...planned, ...children], ...(replan && { replan }) };
}
