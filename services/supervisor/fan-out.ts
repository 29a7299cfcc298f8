/** Branches side by side: which there are, and what they come to together. */

import type { FanOut, TaskDefinition } from '../../schemas/definitions/plan.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../chassis/errors.ts';
import { childrenOf } from './children.ts';
import { evaluateIn } from './scope.ts';
import {
  type BranchOutcome,
  isSettled,
  type SupervisorState,
  type TaskFailure,
  type TaskState,
} from './state.ts';
import type { Verdict } from './verdict.ts';

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

/** What is known of a branch: null where it was stopped, undefined while it may still come to something. */
export type Branch = Readonly<{ scope: JsonObject; outcome: BranchOutcome | undefined }>;

/** The end of the fan-out, as soon as its branches allow one. */
export function settleFanOut(state: SupervisorState, task: TaskState, fanOut: FanOut): Verdict {
  const branches = childrenOf(state, task.definition.id).map(branchOf);
  const of = { task, fanOut, branches };
  return fanOut.report === undefined ? verdictOn(state, of) : reportOn(of, fanOut.report);
}

function branchOf(branch: TaskState): Branch {
  const scope = branch.child?.scope ?? {};
  const { machine, output, failure } = branch;
  if (machine.value === 'completed') return { scope, outcome: { output } };
  if (!isSettled(branch)) return { scope, outcome: undefined };
  if (machine.value !== 'abandoned') return { scope, outcome: null };
  return { scope, outcome: { failure: failureOf(failure) } };
}

const failureOf = (failure: TaskFailure | null) => {
  const { code = 'TASK_ABANDONED', class: kind = 'limit', message = '' } = failure ?? {};
  return { code, class: kind, message };
};

export type Branches = Readonly<{
  task: TaskState;
  fanOut: FanOut;
  branches: readonly Branch[];
}>;

const isWon = ({ outcome }: Branch): boolean => outcome != null && 'output' in outcome;

/** What the branches come to by the policies of the fan-out; undefined while that is open. */
export function verdictOn(state: SupervisorState, of: Branches): Verdict {
  const { task, fanOut, branches } = of;
  const completed = branches.filter(isWon).length;
  const lost = branches.filter(({ outcome }) => outcome !== undefined).length - completed;
  const wanted = wantedOf(fanOut, branches.length);
  if (fanOut.until !== 'all' && completed >= wanted && completed > 0)
    return { output: outputOf(state, of) };
  if (fanOut.onBranchFailure === 'fail' && branches.length - lost < wanted)
    return { failure: lossOf(task, branches, wanted) };
  if (completed + lost < branches.length) return undefined;
  const substitutes = fanOut.onBranchFailure === 'substitute';
  const enough = substitutes ? branches.length >= wanted : completed > 0 || wanted === 0;
  if (!enough) return { failure: lossOf(task, branches, wanted) };
  return { output: outputOf(state, of) };
}

/** In a child session: what became of each branch, once the parent needs no more of them. */
function reportOn(
  { fanOut, branches }: Branches,
  { lossesMax }: NonNullable<FanOut['report']>,
): Verdict {
  const completed = branches.filter(isWon).length;
  const known = branches.filter(({ outcome }) => outcome !== undefined).length;
  const enough = fanOut.until !== 'all' && completed >= wantedOf(fanOut, branches.length);
  if (!enough && known - completed <= lossesMax && known < branches.length) return undefined;
  return { output: branches.map(({ outcome = null }) => outcome as JsonValue) };
}

/** How many branches must complete. */
export function wantedOf({ until, quorum = 1 }: FanOut, branches: number): number {
  if (until === 'first') return 1;
  return until === 'quorum' ? quorum : branches;
}

/** By branch id where branches have names, else in the order of the items. */
function outputOf(state: SupervisorState, { task, fanOut, branches }: Branches): JsonValue {
  const values = branches.map((branch) => branchValue(state, { task, fanOut, branch }));
  const won = branches.findIndex(isWon);
  if (fanOut.until === 'first') return values[Math.max(0, won)] ?? null;
  if (fanOut.branches === undefined) return values;
  return Object.fromEntries(fanOut.branches.map(({ id }, index) => [id, values[index] ?? null]));
}

function branchValue(
  state: SupervisorState,
  of: Readonly<{ task: TaskState; fanOut: FanOut; branch: Branch }>,
): JsonValue {
  const { task, fanOut, branch } = of;
  const { outcome, scope } = branch;
  if (outcome != null && 'output' in outcome) return outcome.output;
  const { substitute, onBranchFailure } = fanOut;
  if (onBranchFailure !== 'substitute' || substitute === undefined || outcome === undefined)
    return null;
  const { code = '', message = '' } = outcome?.failure ?? {};
  const more = { ...scope, failure: { code, message } };
  const { definition } = task;
  const value = evaluateIn(state, {
    ...{ task: definition, member: 'fanOut.substitute', template: substitute, more },
  });
  // What cannot be made up is as good as nothing; the failure itself stands in the log.
  return value instanceof LongreinError ? null : value;
}

function lossOf(task: TaskState, branches: readonly Branch[], wanted: number) {
  const { id } = task.definition;
  const failures = branches.flatMap(({ outcome }) =>
    outcome != null && 'failure' in outcome ? [outcome.failure] : [],
  );
  const [first] = failures;
  const reason = first?.message ?? 'there was none';
  const message = `Task "${id}" needs ${wanted} of ${branches.length} branches; ${failures.length} failed: ${reason}`;
  return { code: 'BRANCHES_FAILED', class: first?.class ?? 'limit', message } as const;
}

/** The branch's input, or the error of the plan's expression for it. */
export function branchInput(
  state: SupervisorState,
  task: TaskDefinition,
  scope: JsonObject,
  index: number,
): JsonValue | LongreinError {
  const template = task.fanOut?.branches?.[index]?.input ?? task.input;
  return evaluateIn(state, { task, member: 'input', template, more: scope });
}
