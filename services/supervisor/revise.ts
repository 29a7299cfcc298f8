/** The rest of the plan is made anew when a task was given up that it cannot do without; how often is bounded. */

import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { event, json, text } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import type { SupervisorState, TaskState } from './state.ts';

/** Whether the planner thinks about the rest: nothing of the plan begins until it has said. */
export const isRevising = ({ replan }: SupervisorState): boolean => replan?.asked === true;

/** Whether it may still be asked. */
export const mayRevise = ({ replan }: SupervisorState): boolean =>
  replan !== undefined && replan.over !== true && replan.revisions < replan.revisionsMax;

/** Asks for the rest anew. */
export function askForRevision(proposal: Proposal<SupervisorState>, lost: TaskState): void {
  const { tasks, replan } = proposal.state;
  const begun = tasks.filter(({ child, machine }) => {
    return child === undefined && !['pending', 'abandoned', 'skipped'].includes(machine.value);
  });
  const done = begun.filter(({ machine }) => machine.value === 'completed');
  const outputs: JsonObject = Object.fromEntries(
    done.map(({ definition, output }) => [definition.id, output]),
  );
  const { code = 'TASK_ABANDONED', class: kind = 'limit', message = '' } = lost.failure ?? {};
  const data = {
    ...{ revision: (replan?.revisions ?? 0) + 1, task: lost.definition.id, code, class: kind },
    kept: begun.map(({ definition }) => definition.id),
  };
  proposal.write(
    event('plan.revision-requested', data, { message: text(message), outputs: json(outputs) }),
  );
}

/** What is kept of it from the plan on; nothing where the plan says nothing of it. */
export const replanOf = ({ replan }: PlanDefinition): Pick<SupervisorState, 'replan'> =>
  replan === undefined
    ? {}
    : { replan: { revisionsMax: replan.revisionsMax, revisions: 0, asked: false } };

/** The task that the plan cannot do without and that was given up. */
export const lostTask = ({ tasks }: SupervisorState): TaskState | undefined =>
  tasks.find(
    ({ machine, definition }) => machine.value === 'abandoned' && definition.onFailure === 'fail',
  );
