/** What becomes of tasks whose agent's template is taken out, where its policy does not wait. */

import { event, text } from '../../schemas/event.ts';
import { sortedEntries } from '../chassis/effects/member.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import type { Denial } from './pool/permit.ts';
import { policyOf, standIn, templateOf } from './recovery.ts';
import { abandon } from './retry.ts';
import { findTask, isRunning, type SupervisorState, type TaskState } from './state.ts';

const reasonOf = ({ agent, failures, code, untilMs }: Denial): string =>
  `the template of agent "${agent}" is taken out until ${new Date(untilMs).toISOString()}, ` +
  `after ${failures} failures in a row, the newest with ${code}.`;

/** Whether it waits to begin an attempt. */
const waits = ({ machine }: TaskState): boolean =>
  machine.value === 'pending' || machine.value === 'retrying';

/** Sends every task that was denied to who takes over, or gives it up. */
export function settleDenials(proposal: Proposal<SupervisorState>): void {
  for (const [id, denial] of sortedEntries(proposal.state.denials ?? {})) {
    const task = findTask(proposal.state, id);
    if (task !== undefined && waits(task) && isRunning(proposal.state))
      settle(proposal, task, denial);
  }
}

function settle(proposal: Proposal<SupervisorState>, task: TaskState, denial: Denial): void {
  const { id } = task.definition;
  const policy = policyOf(proposal.state, task);
  const isDivertible = templateOf(proposal.state, task)?.meanwhile === 'replace';
  const rung = policy === undefined || !isDivertible ? undefined : standIn(policy, task);
  const { agent: from, code, class: kind, untilMs } = denial;
  if (rung?.agent === undefined) {
    const message = `Task "${id}" cannot begin: ${reasonOf(denial)} Mend the template, or let its tasks wait or go to another agent ("onError.breaker.meanwhile").`;
    abandon(proposal, task, { code: 'TEMPLATE_SUSPENDED', class: 'unavailable', message });
    return;
  }
  const data = { task: id, from, agent: rung.agent, count: rung.count, code, class: kind, untilMs };
  const reason = `The agent "${rung.agent}" takes over, because ${reasonOf(denial)}`;
  proposal.write(event('task.diverted', data, { reason: text(reason) }));
}
