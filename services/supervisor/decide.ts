/**
 * The supervisor: runs an accepted plan task by task, tries again what may be tried again, and ends
 * the session where the plan cannot reach its goal. Joining the outputs is the aggregator's.
 */

import type { PoolLimits } from '../../schemas/definitions/pool.ts';
import type { Draft, EventType, SeenEvent } from '../../schemas/event.ts';
import { sessionFold, sessionIsOver } from '../../state-machines/session/session-machine.ts';
import { taskFold } from '../../state-machines/task/task-machine.ts';
import { sha256 } from '../chassis/protocol/hash.ts';
import { beginProposal, type Proposal } from '../chassis/protocol/proposal.ts';
import type { DecideInput, ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { settleComposites } from './composite.ts';
import { settleDelegations } from './delegation.ts';
import { settleDenials } from './diversion.ts';
import { evolve } from './evolve.ts';
import { cancelBegunTasks, closeWhenQuiet, failIfAbandoned, stopIfAsked } from './finish.ts';
import { permitDeliveries, returnAll, returnPermits } from './pool/permits.ts';
import { decidePoolLog, poolLogDeliveries } from './pool/pool-log.ts';
import { refuseStrays } from './questions.ts';
import { deliveriesOf } from './relays.ts';
import { settleAttempts } from './retry.ts';
import { downcastState, upcastState } from './saved-state.ts';
import { scheduleDue } from './schedule.ts';
import { type At, cancelChildren, cancelUnwanted } from './spread.ts';
import { initialState, isComposite, type SupervisorState, type TaskState } from './state.ts';
import { alignTimers, isOwnTimer } from './timers.ts';
import { settleWakes, wakeDeliveries } from './wakes.ts';

const answered: ReadonlySet<EventType> = new Set<EventType>([
  ...(['session.opened', 'session.cancel-requested', 'session.signalled'] as const),
  ...(['decision.failed', 'session.woken', 'wake.counted', 'wake.withdrawn'] as const),
  ...(['session.completed', 'session.failed', 'result.published'] as const),
  ...(['plan.accepted', 'plan.rejected', 'task.completed', 'task.failed'] as const),
  ...(['person.asked', 'person.answered', 'person.settled'] as const),
  // What the end of a session waits for.
  ...(['delivery.acknowledged', 'delivery.refused'] as const),
  ...(['permit.granted', 'permit.denied', 'slot.requested', 'slot.returned'] as const),
  ...(['agent.cleaned-up', 'sandbox.released'] as const),
  ...(['child.ended', 'budget.allotted', 'session.child-cancel-requested'] as const),
  ...(['task.delegated', 'budget.set-aside'] as const),
  ...(['plan.revised', 'plan.revision-refused'] as const),
  ...(['tool.completed', 'tool.failed', 'tool.unknown'] as const),
  ...(['model.completed', 'model.failed', 'model.attempt-failed', 'model.denied'] as const),
]);

function answers(event: SeenEvent): boolean {
  if (event.type === 'timer.fired') return isOwnTimer(event.data.timer);
  return answered.has(event.type);
}

/** Of a pool log: the limits of its pool, as the catalog of this host says. Without them nothing can be given. */
export type SupervisorFacts = Readonly<{ limits?: PoolLimits }>;

/** All that is due, in one turn: an ending first, for nothing may begin after it. */
function decide(state: SupervisorState, input: DecideInput<SupervisorFacts>): readonly Draft[] {
  if (state.poolLog !== undefined) {
    const { limits } = input.facts;
    return limits === undefined ? [] : decidePoolLog(state.poolLog, { nowMs: input.nowMs, limits });
  }
  const proposal = beginProposal(state, evolve);
  stopIfAsked(proposal);
  returnPermits(proposal, input.nowMs);
  advance(proposal, input);
  cancelBegunTasks(proposal);
  cancelUnwanted(proposal);
  settleWakes(proposal, input.session);
  refuseStrays(proposal);
  returnPermits(proposal, input.nowMs);
  alignTimers(proposal);
  closeWhenQuiet(proposal, input.openCalls);
  return proposal.drafts;
}

/** Whether its end may follow from that of another one, or the other way round. */
const isMadeUp = (task: TaskState): boolean => isComposite(task) || task.delegation !== undefined;

/** Until nothing more follows: the end of a branch may end its task, and that may begin another. */
function advance(proposal: Proposal<SupervisorState>, at: At): void {
  let before: number;
  let isMoved: boolean;
  failIfAbandoned(proposal);
  do {
    before = proposal.drafts.length;
    // What was made goes with its end, and more may follow from that.
    isMoved = proposal.state.tasks.some(isMadeUp);
    settleAttempts(proposal, at.nowMs);
    settleDelegations(proposal);
    settleComposites(proposal, at);
    settleDenials(proposal);
    scheduleDue(proposal, at.nowMs);
  } while (proposal.drafts.length > before && isMoved);
}

/** Once it failed it says nothing more of this session; but what it opened must not go on for nobody. */
function decideAfterFailure(
  state: SupervisorState,
  { session }: Pick<DecideInput, 'session'>,
): readonly Draft[] {
  const proposal = beginProposal(state, evolve);
  if (sessionIsOver(state.session)) {
    cancelChildren(state, (draft) => proposal.write(draft), { reason: 'the parent has ended' });
    settleWakes(proposal, session);
  }
  return [...proposal.drafts, ...returnAll(state)];
}

export const supervisorLogic: ServiceLogic<SupervisorState, SupervisorFacts> = {
  name: 'supervisor',
  behaviour: 1,
  fold: 2,
  foldWritten: 1,
  foldsReadable: [1],
  downcastState,
  upcastState,
  machines: {
    [sessionFold.id]: sha256(sessionFold.definition),
    [taskFold.id]: sha256(taskFold.definition),
  },
  initial: () => initialState,
  evolve,
  answers,
  decide,
  decideAfterFailure,
  deliveries: (seen, session) => [
    ...deliveriesOf(seen, session),
    ...permitDeliveries(seen, session),
    ...wakeDeliveries(seen, session),
    ...poolLogDeliveries(seen),
  ],
};
