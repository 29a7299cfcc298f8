/**
 * What happens before an agent begins: the MCP servers of its tools are asked, each by a call of its own. Templates before
 * form 5, and those that want none of it, begin at once.
 *
 * V1 A server that is not well ends the attempt before the first step, with the reason; what follows is the error policy's.
 * V2 A denial says nothing about a server: guards of an older release know no such question. The agent begins.
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import { type Draft, event, json, type SeenEvent } from '../../schemas/event.ts';
import { type ServerCheck, serverChecksOf } from '../chassis/catalog/server-checks.ts';
import { type Members, memberOf } from '../chassis/effects/member.ts';
import { callId } from '../chassis/protocol/ids.ts';
import { failureOf, type ToolFailureEvent } from './failures.ts';
import type { AgentEntry, Failure, PoolState, ServerAnswer } from './state.ts';

type Part = Partial<AgentEntry>;

const before = new Set(['created', 'provisioning', 'checked']);

/** Whether the agent was made and has not begun. */
export const isProvisioning = ({ machine }: AgentEntry): boolean =>
  machine !== undefined && before.has(machine.value);

/** What the agents ask, as a part of the state; none where nobody asks. */
export function checksOf(
  definitions: Members<AgentDefinition>,
  { tools }: PinnedCatalog,
): Readonly<{ checks?: Members<readonly ServerCheck[]> }> {
  const asking = Object.entries(definitions).flatMap(([name, definition]) => {
    const checks = serverChecksOf(definition, tools);
    return checks.length === 0 ? [] : [[name, checks] as const];
  });
  return asking.length === 0 ? {} : { checks: Object.fromEntries(asking) };
}

type Beginning = Readonly<{
  session: string;
  agent: string;
  entry: AgentEntry;
  state: PoolState;
  definition: AgentDefinition;
}>;

/** The questions of an agent that begins; none where it asks nothing. */
export function checkDrafts({ session, agent, entry, state }: Beginning): Draft[] {
  const { task, attempt, name: agentName } = entry;
  // A person is asked what becomes of the task, whatever is well.
  if (entry.recovery?.step === 'escalate') return [];
  const checks = memberOf(state.checks ?? {}, entry.name) ?? [];
  return checks.map(({ check, tools }, index) => {
    const call = callId(session, agent, index + 1);
    const data = { call, agent, task, attempt, step: 0, agentName, tool: check };
    return event('tool.requested', data, { arguments: json({ tools: [...tools] }) });
  });
}

export const startDrafts = ({ agent, definition }: Beginning): Draft[] => [
  event('agent.provisioned', { agent, tools: [...definition.tools] }),
  event('agent.started', { agent }),
];

/** It is no call of the work: ids count it, usage does not. */
export function askedServer(
  { checks = [], calls }: AgentEntry,
  { data }: SeenEvent<'tool.requested'>,
): Part {
  return { checks: [...checks, { call: data.call }], calls: calls + 1 };
}

type Ended = SeenEvent<'tool.completed'> | ToolFailureEvent;

/** Nobody saw what the server said. It was a question: it may be asked again. */
function lost(seen: SeenEvent<'tool.unknown'>): Failure {
  const message = `${failureOf(seen).message} It only asked: the next attempt asks again.`;
  return { code: 'SERVER_CHECK_LOST', class: 'unavailable', retryable: true, message };
}

function withAnswer(one: ServerAnswer, seen: Ended): ServerAnswer {
  if (one.call !== seen.data.call) return one;
  if (seen.type === 'tool.completed' || seen.type === 'tool.denied') return one;
  return { ...one, failure: seen.type === 'tool.unknown' ? lost(seen) : failureOf(seen) };
}

export const toldServer = ({ checks = [] }: AgentEntry, seen: Ended): Part => ({
  checks: checks.map((one) => withAnswer(one, seen)),
});

/** Why the agent cannot begin: what the first server that is not well has said. */
export function unwell(
  { name }: AgentDefinition,
  { checks = [] }: AgentEntry,
): Failure | undefined {
  const failure = checks.find((one) => one.failure !== undefined)?.failure;
  if (failure === undefined) return undefined;
  return { ...failure, message: `Agent "${name}" did not begin. ${failure.message}` };
}
