/** Branches side by side: which there are, and what they come to together. */

import type { FanOut, TaskDefinition } from '../../schemas/definitions/plan.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../chassis/errors.ts';
import { childrenOf } from './children.ts';
import type { Verdict } from './composite.ts';
import { evaluateIn, expressionFailure } from './scope.ts';
import { isSettled, type SupervisorState, type TaskState } from './state.ts';

/** What each branch sees besides what the task sees; or why there can be none. */
export function branchScopes(
  state: SupervisorState,
  task: TaskDefinition,
  fanOut: FanOut,
): readonly JsonObject[] | LongreinError {
  if (fanOut.branches !== undefined)
    return fanOut.branches.map(({ id }, index) => ({ branch: id, index }));
  const over = fanOut.over ?? [];
  const items = evaluateIn(state, { task, member: 'fanOut.over', template: over });
  if (items instanceof LongreinError) return items;
  // JSONata takes a list of one for its only item.
  const list: readonly JsonValue[] = Array.isArray(items) ? items : items === null ? [] : [items];
  if (list.length <= fanOut.itemsMax) return list.map((item, index) => ({ item, index }));
  const message = `Task "${task.id}" would have ${list.length} branches; its itemsMax is ${fanOut.itemsMax}`;
  return new LongreinError('FAN_OUT_TOO_WIDE', `${message}.`);
}

/** The end of the fan-out, as soon as its branches allow one. */
export function settleFanOut(state: SupervisorState, task: TaskState, fanOut: FanOut): Verdict {
  const branches = childrenOf(state, task.definition.id);
  const completed = branches.filter(({ machine }) => machine.value === 'completed').length;
  const lost = branches.filter((one) => isSettled(one)).length - completed;
  const wanted = wantedOf(fanOut, branches.length);
  if (fanOut.until !== 'all' && completed >= wanted && completed > 0)
    return { output: outputOf(state, { task, fanOut, branches }) };
  if (fanOut.onBranchFailure === 'fail' && branches.length - lost < wanted)
    return { failure: lossOf(task, branches, wanted) };
  if (completed + lost < branches.length) return undefined;
  return allSettled(state, { task, fanOut, branches }, { completed, wanted });
}

function wantedOf({ until, quorum = 1 }: FanOut, branches: number): number {
  if (until === 'first') return 1;
  return until === 'quorum' ? quorum : branches;
}

type Settled = Readonly<{ task: TaskState; fanOut: FanOut; branches: readonly TaskState[] }>;

function allSettled(
  state: SupervisorState,
  of: Settled,
  { completed, wanted }: { completed: number; wanted: number },
): Verdict {
  const { task, fanOut, branches } = of;
  const substitutes = fanOut.onBranchFailure === 'substitute';
  const enough = substitutes ? branches.length >= wanted : completed > 0 || wanted === 0;
  if (!enough) return { failure: lossOf(task, branches, wanted) };
  const output = outputOf(state, of);
  return output instanceof LongreinError ? { failure: expressionFailure(output) } : { output };
}

/** By branch id where branches have names, else in the order of the items. */
function outputOf(state: SupervisorState, { task, fanOut, branches }: Settled): JsonValue {
  const values = branches.map((branch) => branchValue(state, { task, fanOut, branch }));
  const won = branches.findIndex(({ machine }) => machine.value === 'completed');
  if (fanOut.until === 'first') return values[Math.max(0, won)] ?? null;
  if (fanOut.branches === undefined) return values;
  return Object.fromEntries(fanOut.branches.map(({ id }, index) => [id, values[index] ?? null]));
}

function branchValue(
  state: SupervisorState,
  of: Readonly<{ task: TaskState; fanOut: FanOut; branch: TaskState }>,
): JsonValue {
  const { task, fanOut, branch } = of;
  if (branch.machine.value === 'completed') return branch.output;
  const { substitute, onBranchFailure } = fanOut;
  if (onBranchFailure !== 'substitute' || substitute === undefined || !isSettled(branch))
    return null;
  const { code = '', message = '' } = branch.failure ?? {};
  const more = { ...branch.child?.scope, failure: { code, message } };
  const { definition } = task;
  const value = evaluateIn(state, {
    ...{ task: definition, member: 'fanOut.substitute', template: substitute, more },
  });
  // What cannot be made up is as good as nothing; the failure itself stands in the log.
  return value instanceof LongreinError ? null : value;
}

function lossOf(task: TaskState, branches: readonly TaskState[], wanted: number) {
  const { id } = task.definition;
  const lost = branches.find(({ machine }) => machine.value === 'abandoned');
  const count = branches.filter(({ machine }) => machine.value === 'abandoned').length;
  const reason = lost?.failure?.message ?? 'there was none';
  const message = `Task "${id}" needs ${wanted} of ${branches.length} branches; ${count} failed: ${reason}`;
  return { code: 'BRANCHES_FAILED', class: lost?.failure?.class ?? 'limit', message } as const;
}
