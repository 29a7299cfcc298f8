/** A result that goes to a reviewer, and back with remarks until it is accepted. */

import type { Review } from '../../schemas/definitions/plan.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../chassis/errors.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { childrenOf, expand } from './children.ts';
import { evaluateIn, expressionFailure } from './scope.ts';
import type { SupervisorState, TaskState } from './state.ts';
import type { Verdict } from './verdict.ts';

/** What the first round sees. */
export const firstRound: JsonObject = { round: 1, remarks: null, previous: null };

/** The next half of a round, or the end. */
export function settleReview(
  proposal: Proposal<SupervisorState>,
  task: TaskState,
  review: Review,
): Verdict {
  const last = childrenOf(proposal.state, task.definition.id).at(-1);
  if (last?.child === undefined) return undefined;
  const round = Number(last.child.scope['round'] ?? 1);
  if (last.machine.value === 'abandoned') return { failure: failureOf(task, last) };
  if (last.machine.value !== 'completed') return undefined;
  if (last.child.kind === 'review') {
    return judge(proposal, task, { review, round, last });
  }
  expand(proposal, task, { kind: 'review', scopes: [{ round, result: last.output }] });
  return undefined;
}

/** A round that failed is the failure of the task. */
function failureOf({ definition }: TaskState, last: TaskState) {
  const { code = 'TASK_ABANDONED', class: kind = 'limit', message = '' } = last.failure ?? {};
  const who = last.child?.kind === 'review' ? 'reviewer' : 'worker';
  return { code, class: kind, message: `The ${who} of task "${definition.id}" failed: ${message}` };
}

type Judged = Readonly<{ review: Review; round: number; last: TaskState }>;

function judge(
  proposal: Proposal<SupervisorState>,
  task: TaskState,
  { review, round, last }: Judged,
): Verdict {
  const result = last.child?.scope['result'] ?? null;
  const more = { review: last.output, result, round };
  const evaluated = (member: string, template: JsonValue) =>
    evaluateIn(proposal.state, {
      ...{ task: task.definition, member: `review.${member}`, template, more },
    });
  const accepted = evaluated('accepted', `=${review.accepted}`);
  if (accepted instanceof LongreinError) return { failure: expressionFailure(accepted) };
  if (accepted === true) return { output: result };
  const remarks = evaluated('remarks', review.remarks);
  if (remarks instanceof LongreinError) return { failure: expressionFailure(remarks) };
  if (round < review.roundsMax) {
    const scope = { round: round + 1, remarks, previous: result };
    expand(proposal, task, { kind: 'work', scopes: [scope] });
    return undefined;
  }
  if (review.onExhausted === 'accept') return { output: result };
  return { failure: refusedFor(task, round, remarks) };
}

function refusedFor({ definition }: TaskState, rounds: number, remarks: JsonValue) {
  const said = typeof remarks === 'string' ? remarks : JSON.stringify(remarks);
  const message = `Task "${definition.id}" was not accepted in ${rounds} rounds. The last remarks: ${said}`;
  return { code: 'REVIEW_NOT_ACCEPTED', class: 'limit', message } as const;
}
