/** The plan of a child session: the part of a fan-out that is its own, with all that it uses. */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { FanOut, PlanDefinition, TaskDefinition } from '../../schemas/definitions/plan.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { withDelegates, workersOf } from '../chassis/catalog/plan-agents.ts';
import { wantedOf } from './fan-out.ts';
import type { SupervisorState } from './state.ts';

const nameCharactersMax = 128;

/** No file can give a plan such a name: a release that does not know of children finds none. */
export const childPlanName = (plan: string, task: string): string =>
  `${plan}/${task}`.slice(-nameCharactersMax);

export type Part = Readonly<{
  fanOut: FanOut;
  /** Of its branches among all. */
  places: readonly number[];
  /** How many branches of this child run at a time. */
  parallelMax: number;
  /** Of the whole fan-out. */
  branches: number;
}>;

/** Everything that the child needs: it asks no files, so that it runs on what its parent has pinned. */
export function childCatalog(
  { catalog, limitedPools, plan, planVersion = '' }: SupervisorState,
  task: TaskDefinition,
  part: Part,
): JsonValue {
  const { agents: all = {}, tools = {}, models = {} } = catalog ?? {};
  const workers = workersOf(task).map(({ agent }) => agent);
  const names = new Set(withDelegates(workers, all));
  const agents = Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
  const used = new Set(Object.values(agents).flatMap((agent) => agent.tools));
  const pinned: PinnedCatalog = {
    plan: childPlan({ name: childPlanName(plan, task.id), version: planVersion, task }, part),
    agents,
    tools: Object.fromEntries(Object.entries(tools).filter(([name]) => used.has(name))),
    models,
    ...(limitedPools === undefined ? {} : { limitedPools }),
  };
  return pinned as unknown as JsonValue;
}

function childPlan(
  { name, version, task }: Readonly<{ name: string; version: string; task: TaskDefinition }>,
  part: Part,
): PlanDefinition {
  const { budgetNanoUsd: _parents, ...rest } = task;
  const own: TaskDefinition = {
    ...rest,
    needs: [],
    input: '=item.value',
    onFailure: 'fail',
    fanOut: childFanOut(part),
  };
  return {
    name,
    version,
    description: `Branches of "${task.id}".`,
    inputs: { branches: { type: 'array', required: true } },
    tasks: [own],
    output: { kind: 'collect', conflict: 'list' },
  };
}

/** It goes on while the whole may still come to what is wanted, and tells the parent of each branch. */
function childFanOut({ fanOut, places, parallelMax, branches }: Part): FanOut {
  const { until, onBranchFailure } = fanOut;
  const most = {
    itemsMax: places.length,
    parallelMax,
    until,
    onBranchFailure: 'continue',
  } as const;
  const wanted = Math.min(wantedOf(fanOut, branches), places.length);
  const lossesMax =
    onBranchFailure === 'fail' ? branches - wantedOf(fanOut, branches) : places.length;
  const named = fanOut.branches?.length === undefined ? undefined : fanOut.branches;
  const which =
    named === undefined
      ? { over: '=inputs.branches' }
      : {
          branches: places.flatMap((place, at) => {
            const branch = named[place];
            return branch === undefined
              ? []
              : [{ ...branch, input: `=inputs.branches[${at}].value` }];
          }),
        };
  const quorum = until === 'quorum' ? { quorum: wanted } : {};
  return { ...most, ...which, ...quorum, report: { lossesMax: Math.max(0, lossesMax) } };
}
