/**
 * What a schema cannot say of agents that give work to others.
 *
 * D1 A delegate may do nothing that who delegates may not do: its tools are among those of the other one, whose role may
 *    call them. So is what a delegate hands its task on to. The sandbox of a call is said by its tool, and goes with it.
 */

import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import { delegate, handoff } from './delegation-tools.ts';
import { under, unknownNames } from './known-names.ts';
import { withDelegates } from './plan-agents.ts';
import type { Violation } from './problem.ts';
import { replacementsOf } from './recovery-policy.ts';

/** `names` are all that can be named, also those whose files are broken. */
export type Known = Readonly<{
  agents: Readonly<Record<string, AgentDefinition>>;
  tools: Readonly<Record<string, ToolDefinition>>;
  names: readonly string[];
}>;

/** Every rule of delegation that `agent` breaks. */
export function validateDelegation(agent: AgentDefinition, known: Known): Violation[] {
  const { delegates, handoffs } = agent;
  return [
    ...pairViolations(agent, { member: 'delegates', tool: delegate }),
    ...pairViolations(agent, { member: 'handoffs', tool: handoff }),
    ...unknownNames(delegates?.agents ?? [], known.names, 'agent').map(
      under('delegates', 'agents'),
    ),
    ...unknownNames(handoffs?.agents ?? [], known.names, 'agent').map(under('handoffs', 'agents')),
    ...(delegates?.agents ?? []).flatMap((name, index) =>
      rightsViolations(agent, name, known).map(under('delegates', 'agents', index)),
    ),
    ...conversationViolations(agent, known),
  ];
}

type Pair = Readonly<{ member: 'delegates' | 'handoffs'; tool: string }>;

/** The policy and the tool go together. */
function pairViolations(agent: AgentDefinition, { member, tool }: Pair): Violation[] {
  const has = agent[member] !== undefined;
  const lists = agent.tools.includes(tool);
  if (has === lists) return [];
  if (has) {
    const reason = `The agent has "${member}", but its tools do not list "${tool}".`;
    return [{ path: [member], reason, fix: `Add "${tool}" to its tools, or remove "${member}".` }];
  }
  const reason = `The agent lists "${tool}", but nothing says which agents it may name.`;
  const fix = `Add "${member}" with "agents", or take "${tool}" from its tools.`;
  return [{ path: ['tools', agent.tools.indexOf(tool)], reason, fix }];
}

const found = <T>(all: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(all, name) ? all[name] : undefined;

/** How agents give work away; what they do with it is theirs to answer for. */
const ways: ReadonlySet<string> = new Set([delegate, handoff]);

/** Why an agent may not call a tool; undefined where it may. */
function lacks(agent: AgentDefinition, tool: string, known: Known): string | undefined {
  if (!agent.tools.includes(tool)) return 'which this agent does not list';
  const roles = found(known.tools, tool)?.roles ?? ['*'];
  return roles.includes('*') || roles.includes(agent.role)
    ? undefined
    : `which the role "${agent.role}" may not call`;
}

/** Who may come to do the work of an agent in its place. */
const goesTo = (agent: AgentDefinition): readonly string[] => [
  ...(agent.handoffs?.agents ?? []),
  ...replacementsOf(agent),
];

/** D1, for a delegate, all that it may hand its task on to, and those that may take over from them. */
function rightsViolations(agent: AgentDefinition, name: string, known: Known): Violation[] {
  const reached = withDelegates([name], known.agents, goesTo);
  return reached.flatMap((one) => {
    const tools = (found(known.agents, one)?.tools ?? []).filter((tool) => !ways.has(tool));
    return tools.flatMap((tool) => {
      const why = lacks(agent, tool, known);
      if (why === undefined) return [];
      const via = one === name ? '' : `, to which the task of "${name}" may come,`;
      const reason = `The agent "${one}"${via} may call "${tool}", ${why}: a delegate has no rights beyond those of who delegates.`;
      const fix = `Give this agent "${tool}" and a role that may call it, take it from "${one}", or hand the task on instead.`;
      return [{ path: [], reason, fix }];
    });
  });
}

/** A conversation is of a model, and its steps have to be known to who keeps it within a limit. */
function conversationViolations(agent: AgentDefinition, known: Known): Violation[] {
  const { handoffs } = agent;
  if (handoffs?.with !== 'conversation') return [];
  const path = ['handoffs', 'with'];
  if (agent.kind === 'procedure') {
    const reason = 'A procedure has no conversation to hand on.';
    return [{ path, reason, fix: 'Write "with: summary".' }];
  }
  return handoffs.agents.flatMap((name, index) => {
    const other = found(known.agents, name);
    if (other?.kind !== 'model' || other.context === undefined || agent.context !== undefined)
      return [];
    const reason = `"${name}" keeps its context within ${other.context.tokensMax} tokens, but this agent, whose conversation it gets, does not.`;
    const fix = 'Give this agent a "context" too, or write "with: summary".';
    return [{ path: ['handoffs', 'agents', index], reason, fix }];
  });
}
