/**
 * What the guard knows of agents that give work to others.
 *
 * G3 A delegate calls nothing that who delegated to it may not call, and so on up to the task of the plan: the catalog
 *    refuses such templates, and the guard such calls.
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import type { SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { handoff } from '../chassis/catalog/delegation-tools.ts';
import {
  type Lineage,
  notAlone,
  ofPlan,
  type Refusal,
  refusalOf,
} from '../chassis/effects/delegation.ts';
import { type Members, memberOf, withMember } from '../chassis/effects/member.ts';
import type { AgentRights, Denial } from './checks.ts';

type Giver = Pick<AgentDefinition, 'delegates' | 'handoffs'>;

/** How a delegated task came to be: whose agent gave it, and of which task. */
type Origin = Lineage & Readonly<{ kind: 'delegate' | 'handoff'; task: string; agentName: string }>;

/** `givers` by agent; `tasks` by delegated task; `made` says how often each task was delegated from. */
export type Delegations = Readonly<{
  givers: Members<Giver>;
  tasks: Members<Origin>;
  made: Members<number>;
}>;

export const noDelegations: Delegations = { givers: {}, tasks: {}, made: {} };

/** Undefined where nobody of the session gives work away. */
export function delegationsOf({ agents }: PinnedCatalog): Delegations | undefined {
  const givers = Object.entries(agents).flatMap(([name, { delegates, handoffs }]) => {
    if (delegates === undefined && handoffs === undefined) return [];
    const policies = {
      ...(delegates === undefined ? {} : { delegates }),
      ...(handoffs === undefined ? {} : { handoffs }),
    };
    return [[name, policies] as const];
  });
  return givers.length === 0 ? undefined : { ...noDelegations, givers: Object.fromEntries(givers) };
}

export function foldDelegated(
  known: Delegations,
  { data }: SeenEvent<'task.delegated'>,
): Delegations {
  const { delegated, kind, task, agentName, depth, depthMax, handoffs, ordinal } = data;
  const lineage = { depth, handoffs, ...(depth === 0 ? {} : { depthMax }) };
  return {
    ...known,
    tasks: withMember(known.tasks, delegated, { kind, task, agentName, ...lineage }),
    made: withMember(known.made, task, ordinal),
  };
}

type Call = Readonly<{ agentName: string; tool: string; task: string; arguments: JsonValue }>;

/** What is wrong with a call that gives work away, and that the pool made no task of. */
export function givingRefusal({ givers, tasks, made }: Delegations, call: Call): Refusal {
  const { agentName, tool, task } = call;
  const found = refusalOf({
    ...{ tool, task, arguments: call.arguments },
    agent: { name: agentName, ...memberOf(givers, agentName) },
    lineage: memberOf(tasks, task) ?? ofPlan,
    made: memberOf(made, task) ?? 0,
  });
  if (found !== undefined) return found;
  if (tool === handoff) return notAlone;
  const message =
    'Nobody took this work: another call of the same answer was the last that was allowed.';
  return { code: 'DELEGATION_REFUSED', message, fix: 'Ask again, or finish the task yourself.' };
}

type Checked = Pick<Call, 'task'> &
  Readonly<{ agents: Members<AgentRights>; definition: ToolDefinition }>;

/** The denial of a call that somebody above who delegated may not make (G3). */
export function beyondGiver({ tasks }: Delegations, call: Checked): Denial | undefined {
  const { agents, definition } = call;
  if (definition.runner.kind === 'agent') return undefined;
  for (let { task } = call; ; ) {
    const origin = memberOf(tasks, task);
    if (origin === undefined) return undefined;
    const rights = memberOf(agents, origin.agentName);
    if (origin.kind === 'delegate' && !mayCall(rights, definition)) {
      const message = `Agent "${origin.agentName}", which delegated this work, may not call "${definition.name}" itself.`;
      const fix = 'Give the tool to that agent too, or do without it.';
      return { code: 'BEYOND_DELEGATOR', check: 'role', message, fix };
    }
    task = origin.task;
  }
}

const mayCall = (rights: AgentRights | undefined, { name, roles }: ToolDefinition): boolean =>
  rights !== undefined &&
  [...rights.tools, ...(rights.checks ?? [])].includes(name) &&
  (roles.includes('*') || roles.includes(rights.role));
