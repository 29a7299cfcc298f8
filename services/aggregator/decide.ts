/**
 * The aggregator: joins what the tasks gave when all of them are settled, and publishes the one
 * result of the session when it ended, however it ended.
 */

import { type Draft, type EventType, event, type SeenEvent, text } from '../../schemas/event.ts';
import {
  resultIsOut,
  sessionFold,
  sessionIsOver,
} from '../../state-machines/session/session-machine.ts';
import { taskFold } from '../../state-machines/task/task-machine.ts';
import { sha256 } from '../chassis/protocol/hash.ts';
import { beginProposal } from '../chassis/protocol/proposal.ts';
import type { DecideInput, ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { completion, isComplete } from './complete.ts';
import { evolve } from './evolve.ts';
import { progressOf } from './progress.ts';
import { deliveriesOf, replacementOf, resultOf } from './result.ts';
import { type AggregatorState, initialState } from './state.ts';

const answered: ReadonlySet<EventType> = new Set<EventType>([
  ...(['plan.accepted', 'session.failed', 'session.cancelled'] as const),
  ...(['task.completed', 'task.abandoned', 'task.skipped'] as const),
  // Where the supervisor cannot go on.
  ...(['decision.failed', 'delivery.acknowledged', 'delivery.refused'] as const),
  // What a result waits for.
  ...['child.ended' as const, 'budget.settled' as const],
  ...(['tool.completed', 'tool.failed', 'tool.unknown'] as const),
  ...(['model.completed', 'model.failed', 'model.attempt-failed', 'model.denied'] as const),
]);

/** What the supervisor would do, were it able to decide: end the session, and close it once the result is out. */
function standIn({ session, orphaned, letters = [] }: AggregatorState): readonly Draft[] {
  if (orphaned === undefined) return [];
  const isQuiet = orphaned.resultDelivered && letters.length === 0;
  if (isQuiet && resultIsOut(session)) return [event('session.closed', {})];
  if (sessionIsOver(session)) return [];
  const data = { code: 'DECISION_FAILED' };
  return [event('session.failed', data, { message: text(orphaned.message) })];
}

/**
 * Completion and result may stand in one turn: nobody would wake this service between them. Should
 * another ending have slipped in before the turn, the session's machine refuses both, and the
 * result of the ending that counts is decided next.
 */
function decide(state: AggregatorState, input: DecideInput): readonly Draft[] {
  const proposal = beginProposal(state, evolve);
  for (const draft of standIn(state)) proposal.write(draft);
  if (isComplete(proposal.state)) {
    const next = completion(proposal.state, input.session.session);
    if (next !== undefined) proposal.write(next);
  } else for (const draft of progressOf(proposal.state)) proposal.write(draft);
  for (const draft of resultOf(proposal.state, input)) proposal.write(draft);
  for (const draft of replacementOf(proposal.state, input)) proposal.write(draft);
  return proposal.drafts;
}

/** Once it failed it joins nothing more; what the asker has to hear it says all the same. */
function decideAfterFailure(state: AggregatorState, input: DecideInput): readonly Draft[] {
  const proposal = beginProposal(state, evolve);
  for (const draft of standIn(state)) proposal.write(draft);
  for (const draft of resultOf(proposal.state, input)) proposal.write(draft);
  for (const draft of replacementOf(proposal.state, input)) proposal.write(draft);
  return proposal.drafts;
}

export const aggregatorLogic: ServiceLogic<AggregatorState> = {
  name: 'aggregator',
  behaviour: 1,
  fold: 1,
  machines: {
    [sessionFold.id]: sha256(sessionFold.definition),
    [taskFold.id]: sha256(taskFold.definition),
  },
  initial: () => initialState,
  evolve,
  answers: (seen: SeenEvent) => answered.has(seen.type),
  decide,
  decideAfterFailure,
  deliveries: deliveriesOf,
};
