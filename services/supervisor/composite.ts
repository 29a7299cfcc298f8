import { event, json, text } from '../../schemas/event.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { childrenOf } from './children.ts';
import { settleFanOut } from './fan-out.ts';
import { settleLoop } from './loop.ts';
import { settleReview } from './review.ts';
import { type At, cancelChildren, settleSpread } from './spread.ts';
import { findTask, isComposite, isRunning, type SupervisorState } from './state.ts';
import type { Verdict } from './verdict.ts';

/**
 * Tasks that are made of others: a fan-out, a review, a loop. Each is a task like any other from outside; what happens
 * within follows from its children, which are tasks too.
 */

/** Looks at every such task that began: more children, or its end. */
export function settleComposites(proposal: Proposal<SupervisorState>, at: At): void {
  const begun = proposal.state.tasks.filter(
    (task) => isComposite(task) && task.machine.value === 'scheduled',
  );
  for (const { definition } of begun) {
    if (isRunning(proposal.state)) settle(proposal, definition.id, at);
  }
}

function settle(proposal: Proposal<SupervisorState>, id: string, at: At): void {
  const task = findTask(proposal.state, id);
  if (task === undefined) return;
  const { fanOut, review, loop } = task.definition;
  let verdict: Verdict;
  if (fanOut !== undefined && task.spread !== undefined)
    verdict = settleSpread(proposal, task, { fanOut, at });
  else if (fanOut !== undefined) verdict = settleFanOut(proposal.state, task, fanOut);
  else if (review !== undefined) verdict = settleReview(proposal, task, review);
  else if (loop !== undefined) verdict = settleLoop(proposal, task, { loop, nowMs: at.nowMs });
  if (verdict !== undefined) end(proposal, id, verdict);
}

/** First what still runs is stopped, then the task ends. */
function end(
  proposal: Proposal<SupervisorState>,
  task: string,
  verdict: NonNullable<Verdict>,
): void {
  for (const { definition, machine } of childrenOf(proposal.state, task)) {
    if (!['scheduled', 'failed', 'retrying'].includes(machine.value)) continue;
    proposal.write(event('task.cancelled', { task: definition.id, attempt: attemptsOf(machine) }));
  }
  const reason = `task "${task}" needs no more of its branches`;
  cancelChildren(proposal.state, (draft) => proposal.write(draft), { task, reason });
  const head = { task, attempt: 1, agent: 'supervisor' };
  if ('output' in verdict) {
    proposal.write(event('task.completed', head, { output: json(verdict.output) }));
    return;
  }
  const { code, class: kind, message } = verdict.failure;
  const data = { ...head, code, class: kind, retryable: false };
  proposal.write(event('task.failed', data, { message: text(message) }));
}
