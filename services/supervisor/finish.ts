/**
 * How a session ends: for a reason from outside the plan, for a task that may not fail, and at last
 * for good.
 */

import { event, text } from '../../schemas/event.ts';
import { resultIsOut, sessionIsOver } from '../../state-machines/session/session-machine.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import type { DecideInput } from '../chassis/protocol/service-logic.ts';
import { askForRevision, isRevising, lostTask, mayRevise } from './revise.ts';
import { cancelChildren } from './spread.ts';
import { isComposite, type SupervisorState } from './state.ts';
import { wakesAreSettled } from './wakes.ts';

/** Ends the session where a reason stands in the state and the session is open. */
export function stopIfAsked(proposal: Proposal<SupervisorState>): void {
  const { session, stop } = proposal.state;
  if (stop === null || session.value === 'unopened' || sessionIsOver(session)) return;
  if (stop.as === 'failed') {
    const { code, message } = stop;
    proposal.write(event('session.failed', { code }, { message: text(message) }));
    return;
  }
  const { requestedBy, reason } = stop;
  const content = reason === null ? {} : { reason: text(reason) };
  proposal.write(event('session.cancelled', { requestedBy }, content));
}

/** Where a task was given up that the plan cannot do without: asks for another plan, or fails the session. */
export function failIfAbandoned(proposal: Proposal<SupervisorState>): void {
  const { state } = proposal;
  const lost = state.session.value === 'running' ? lostTask(state) : undefined;
  if (lost === undefined || isRevising(state)) return;
  if (mayRevise(state)) {
    askForRevision(proposal, lost);
    return;
  }
  const { id } = lost.definition;
  const attempts = attemptsOf(lost.machine);
  const times = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  const said = lost.failure?.message ?? '';
  // One that is made of others has told already what became of them.
  const message = isComposite(lost) ? said : `Task "${id}" failed after ${times}: ${said}`;
  const data = { code: lost.failure?.code ?? 'TASK_ABANDONED', task: id };
  proposal.write(event('session.failed', data, { message: text(message) }));
}

const begun = new Set(['scheduled', 'failed', 'retrying']);

/** Stops every task that began and did not end, once the session is over. */
export function cancelBegunTasks(proposal: Proposal<SupervisorState>): void {
  if (!sessionIsOver(proposal.state.session)) return;
  const { tasks } = proposal.state;
  // What a task is made of goes with it, so it comes first.
  const inOrder = [...tasks.filter(({ child }) => child), ...tasks.filter(({ child }) => !child)];
  for (const { definition, machine } of inOrder) {
    if (!begun.has(machine.value)) continue;
    const data = { task: definition.id, attempt: attemptsOf(machine) };
    proposal.write(event('task.cancelled', data));
  }
  const write = proposal.write.bind(proposal);
  cancelChildren(proposal.state, write, { reason: 'the parent has ended' });
}

/** DESIGN 3.8: closes the log when the result is delivered and nothing runs or lives any more. */
export function closeWhenQuiet(
  proposal: Proposal<SupervisorState>,
  openCalls: DecideInput['openCalls'],
): void {
  const { session, delivered, living, sessions = {} } = proposal.state;
  if (Object.keys(sessions).length > 0 || !wakesAreSettled(proposal.state)) return;
  if (!resultIsOut(session) || !delivered || living.length > 0) return;
  if (Object.values(openCalls).some((call) => call.status === 'claimed')) return;
  proposal.write(event('session.closed', {}));
}
