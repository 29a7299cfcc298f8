/** A task that runs again and again: what wakes it, and what ends it. */

import type { Loop } from '../../schemas/definitions/plan.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../chassis/errors.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { childrenOf, expand } from './children.ts';
import { evaluateIn, expressionFailure } from './scope.ts';
import { isSettled, type LoopState, type SupervisorState, type TaskState } from './state.ts';
import type { Verdict } from './verdict.ts';
import { goalsFor, takeGoals } from './wakes.ts';

export const noLoop: LoopState = {
  iterations: 0,
  spentBeforeNanoUsd: 0,
  wakeAtMs: null,
  signals: [],
};

/** The next iteration when it is woken, or the end. */
export function settleLoop(
  proposal: Proposal<SupervisorState>,
  task: TaskState,
  { loop, nowMs }: Readonly<{ loop: Loop; nowMs: number }>,
): Verdict {
  const last = childrenOf(proposal.state, task.definition.id).at(-1);
  if (task.fired !== null) return ended(task, 'deadline', last);
  if (last !== undefined && !isSettled(last)) return undefined;
  if (last?.machine.value === 'abandoned') return { failure: failureOf(task, last) };
  const exit = last === undefined ? undefined : exitOf(proposal.state, { task, loop, last });
  if (exit instanceof LongreinError) return { failure: expressionFailure(exit) };
  if (exit !== undefined) return ended(task, exit, last);
  if (loop.wake.goalsOfKey === true && proposal.state.wakes === undefined)
    return { failure: withoutKey(task) };
  const goals = goalsFor(proposal.state, task);
  const scope = wokenScope(task, { loop, nowMs, last, goals });
  if (scope === undefined) return undefined;
  expand(proposal, task, { kind: 'iteration', scopes: [scope] });
  if (goals !== undefined) takeGoals(proposal, task.definition.id, Number(scope['iteration']));
  return undefined;
}

type Exit = 'when' | 'iterations' | 'deadline' | 'budget';

function exitOf(
  state: SupervisorState,
  { task, loop, last }: Readonly<{ task: TaskState; loop: Loop; last: TaskState }>,
): Exit | LongreinError | undefined {
  const { when, iterationsMax, budgetNanoUsd } = loop.exit;
  const { iterations, spentBeforeNanoUsd } = task.loop ?? noLoop;
  if (when !== undefined) {
    const more = { output: last.output, iteration: iterations };
    const { definition } = task;
    const holds = evaluateIn(state, {
      ...{ task: definition, member: 'loop.exit.when', template: `=${when}`, more },
    });
    if (holds instanceof LongreinError) return holds;
    if (holds === true) return 'when';
  }
  if (iterationsMax !== undefined && iterations >= iterationsMax) return 'iterations';
  const spent = (state.spentNanoUsd ?? 0) - spentBeforeNanoUsd;
  return budgetNanoUsd !== undefined && spent >= budgetNanoUsd ? 'budget' : undefined;
}

type Moment = Readonly<{
  loop: Loop;
  nowMs: number;
  last: TaskState | undefined;
  goals: readonly JsonObject[] | undefined;
}>;

/** What the next iteration sees; undefined while nothing wakes it. */
function wokenScope(
  { loop: state = noLoop }: TaskState,
  { loop, nowMs, last, goals }: Moment,
): JsonObject | undefined {
  const { everyMs, signals } = loop.wake;
  const [signal] = state.signals;
  const byTime = everyMs !== undefined && (state.wakeAtMs ?? 0) <= nowMs;
  const atOnce = (everyMs ?? signals ?? goals) === undefined;
  const byGoals = goals !== undefined && goals.length > 0;
  if (signal === undefined && !byTime && !atOnce && !byGoals) return undefined;
  const previous = last?.output ?? null;
  const scope = { iteration: state.iterations + 1, previous, signal: signal ?? null };
  return goals === undefined ? scope : { ...scope, goals };
}

function withoutKey({ definition }: TaskState) {
  const message =
    `Task "${definition.id}" is woken by goals of the key (wake.goalsOfKey), but this goal has no key, or the plan had no ` +
    'such loop when it was accepted. Submit the goal with a key.';
  return { code: 'KEY_MISSING', class: 'invalid-request', message } as const;
}

function ended({ loop = noLoop }: TaskState, exit: Exit, last: TaskState | undefined): Verdict {
  const output: JsonValue = last?.machine.value === 'completed' ? last.output : null;
  return { output: { iterations: loop.iterations, exit, last: output } };
}

function failureOf({ definition, loop }: TaskState, last: TaskState) {
  const { code = 'TASK_ABANDONED', class: kind = 'limit', message = '' } = last.failure ?? {};
  const which = `Iteration ${loop?.iterations ?? 1} of task "${definition.id}"`;
  return { code, class: kind, message: `${which} failed: ${message}` };
}

/** The loop after its next iteration was decided; it takes the signal that woke it. */
export function iterated(loop: LoopState, scope: JsonObject, spentNanoUsd: number): LoopState {
  const first = loop.iterations === 0;
  return {
    iterations: loop.iterations + 1,
    spentBeforeNanoUsd: first ? spentNanoUsd : loop.spentBeforeNanoUsd,
    wakeAtMs: null,
    signals: scope['signal'] === null ? loop.signals : loop.signals.slice(1),
  };
}
