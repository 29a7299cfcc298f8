/** Who works for a plan: the agent of each task, and those of its branches and reviews. */

import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';
import type { PlanDefinition, TaskDefinition } from '../../../schemas/definitions/plan.ts';
import { replacementsOf } from './recovery-policy.ts';

/** `path` leads from the task to what names the pool and the agent. */
export type Worker = Readonly<{ pool: string; agent: string; path: readonly (string | number)[] }>;

/** The task's own, then its branches or its reviewer. */
export function workersOf(task: TaskDefinition): readonly Worker[] {
  const { pool, agent, fanOut, review } = task;
  const branches = (fanOut?.branches ?? []).map((branch, index) => ({
    pool: branch.pool ?? pool,
    agent: branch.agent ?? agent,
    path: ['fanOut', 'branches', index],
  }));
  const reviewer =
    review === undefined ? [] : [{ pool: review.pool, agent: review.agent, path: ['review'] }];
  return [{ pool, agent, path: [] }, ...branches, ...reviewer];
}

/** Those of all tasks, and those that a planning model or a rule may bring in. */
export const workersOfPlan = ({ tasks, planning, replan }: PlanDefinition): readonly Worker[] => [
  ...tasks.flatMap(workersOf),
  ...(replan?.rules ?? []).flatMap((rule) => rule.tasks.flatMap(workersOf)),
  ...(planning?.agents ?? []).map(({ pool, agent }, index) => ({
    pool,
    agent,
    path: ['planning', 'agents', index],
  })),
];

type Agents = Readonly<Record<string, AgentDefinition>>;

/** Names of agents that an agent may delegate to or hand its task on to. */
export const givesTo = ({ delegates, handoffs }: AgentDefinition): readonly string[] => [
  ...(delegates?.agents ?? []),
  ...(handoffs?.agents ?? []),
];

/** Those that its work may come to: it gives it to them, or they take over from it. */
export const followersOf = (agent: AgentDefinition): readonly string[] => [
  ...givesTo(agent),
  ...replacementsOf(agent),
];

/** These agents and all that their work may come to, each once: by the lists of `next`, as far as they lead. */
export function withDelegates(
  names: readonly string[],
  agents: Agents,
  next: (agent: AgentDefinition) => readonly string[] = followersOf,
): readonly string[] {
  const found = new Set(names);
  // A set is walked with what is added on the way.
  for (const name of found) {
    const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
    for (const other of agent === undefined ? [] : next(agent)) found.add(other);
  }
  return [...found];
}
