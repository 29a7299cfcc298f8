import type { DataOf, SeenEvent } from '../../schemas/event.ts';
import { delegatedBy, taskOfPlan } from '../chassis/catalog/child-task.ts';
import { memberOf, withMember } from '../chassis/effects/member.ts';
import type { Asides, ModelGatewayState } from './state.ts';

/**
 * Money that is set aside for delegated work: a part of what the budgets around it have left, before it begins.
 *
 * A1 What is set aside is taken from every budget around it, so all of them hold for delegates too; a delegate's own
 *    delegates take theirs from what was set aside for it.
 * A2 Calls of delegated work are paid from what was set aside for it, and never from more.
 * A3 What is not spent comes back when the work ends, whatever it came to.
 */

/** The task and those whose agents delegated it, one above the other. */
export function delegatorsOf(task: string): readonly string[] {
  const found: string[] = [];
  for (let one: string | undefined = task; one !== undefined; one = delegatedBy(one))
    found.push(one);
  return found;
}

/** The nearest of them that has money of its own; undefined where none has. */
export const asideOf = (asides: Asides, task: string | undefined): string | undefined =>
  task === undefined
    ? undefined
    : delegatorsOf(task).find((one) => memberOf(asides, one) !== undefined);

const isBudgeted = (state: ModelGatewayState, data: DataOf<'task.delegated'>): boolean =>
  state.budgetNanoUsd !== null ||
  data.budgetNanoUsdMax !== undefined ||
  memberOf(state.tasks ?? {}, taskOfPlan(data.task)) !== undefined ||
  asideOf(state.asides ?? {}, data.task) !== undefined;

/** The state after work was delegated: money is wanted for it where a budget holds. */
export function foldDelegated(
  state: ModelGatewayState,
  { data }: SeenEvent<'task.delegated'>,
): ModelGatewayState {
  const { kind, delegated, budgetPercent = 100, budgetNanoUsdMax: mostNanoUsd } = data;
  const { asides = {} } = state;
  if (kind === 'handoff' || !isBudgeted(state, data)) return state;
  if (memberOf(asides, delegated) !== undefined) return state;
  const most = mostNanoUsd === undefined ? {} : { mostNanoUsd };
  const aside = { percent: budgetPercent, spentNanoUsd: 0, ...most };
  return { ...state, asides: withMember(asides, delegated, aside) };
}

export function foldSetAside(
  state: ModelGatewayState,
  { data }: SeenEvent<'budget.set-aside'>,
): ModelGatewayState {
  const { asides = {} } = state;
  const known = memberOf(asides, data.task);
  if (known === undefined || known.setAsideNanoUsd !== undefined) return state;
  const { setAsideNanoUsd } = data;
  return { ...state, asides: withMember(asides, data.task, { ...known, setAsideNanoUsd }) };
}

/** A task has come to its end, however. */
export const taskEnds: ReadonlySet<string> = new Set([
  ...(['task.completed', 'task.abandoned', 'task.cancelled'] as const),
]);

/** A3: the state after the end of a task, without what was set aside for it and within it. */
export function foldEndedTask(
  state: ModelGatewayState,
  { type, data }: SeenEvent,
): ModelGatewayState {
  const { asides } = state;
  if (asides === undefined || !taskEnds.has(type) || !('task' in data)) return state;
  const { task } = data;
  const left = Object.entries(asides).filter(([one]) => !delegatorsOf(one).includes(String(task)));
  if (left.length === Object.keys(asides).length) return state;
  return { ...state, asides: Object.fromEntries(left) };
}

/** The asides after so much was spent for the task, or allowed besides. */
export function changedAsides(
  asides: Asides,
  task: string,
  by: Readonly<{ spentNanoUsd?: number; raisedNanoUsd?: number }>,
): Asides {
  const { spentNanoUsd = 0, raisedNanoUsd = 0 } = by;
  return delegatorsOf(task).reduce((all, one) => {
    const known = memberOf(all, one);
    if (known === undefined) return all;
    const raised =
      known.setAsideNanoUsd === undefined
        ? {}
        : { setAsideNanoUsd: known.setAsideNanoUsd + raisedNanoUsd };
    return withMember(all, one, {
      ...known,
      ...raised,
      spentNanoUsd: known.spentNanoUsd + spentNanoUsd,
    });
  }, asides);
}
