/**
 * The checks of one tool call, cheapest first; the first that fails is the answer. Every denial
 * says what was wrong and what to do instead, because a model or a person reads it and tries again.
 */

import type { ToolDefinition, ToolRisk } from '../../schemas/definitions/tool.ts';
import type { DataOf } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { EndedBecause } from '../chassis/effects/ended-work.ts';
import { type Members, memberOf, sortedEntries } from '../chassis/effects/member.ts';
import { valueProblem } from '../chassis/value-problems.ts';
import { listed, similarNames } from './similar-names.ts';

export type Denial = Readonly<{
  code: string;
  check: DataOf<'tool.denied'>['check'];
  message: string;
  fix: string;
}>;

/** What the guard knows an agent by. `checks` are the questions to servers that it may ask before it begins. */
export type AgentRights = Readonly<{
  role: string;
  tools: readonly string[];
  checks?: readonly string[];
}>;

/** One call with all that the checks look at. `argumentBytes` counts JSON text in UTF-8. */
export type CallUnderCheck = Readonly<{
  ended: EndedBecause | undefined;
  tool: string;
  agentName: string;
  rights: AgentRights | undefined;
  tools: Members<ToolDefinition>;
  riskMax: ToolRisk;
  arguments: JsonValue;
  argumentBytes: number;
}>;

const riskOrder: readonly ToolRisk[] = ['low', 'medium', 'high', 'critical'];

function checkEnded({ ended }: CallUnderCheck): Denial | undefined {
  if (ended === undefined) return undefined;
  const what = ended === 'session-ended' ? 'session' : 'task';
  return {
    code: what === 'session' ? 'SESSION_ENDED' : 'TASK_ENDED',
    check: 'ended',
    message: `The ${what} has ended; no tool is called for it any more.`,
    fix:
      what === 'session' ? 'Submit a new goal.' : 'Nothing: the supervisor decides what follows.',
  };
}

/** Names that this agent could call, for advice. */
const usableNames = ({ rights, tools }: CallUnderCheck): string[] =>
  (rights?.tools ?? []).filter((name) => memberOf(tools, name) !== undefined);

function advice(call: CallUnderCheck): string {
  const usable = usableNames(call);
  const alike = similarNames(call.tool, usable);
  if (alike.length > 0) return `Use ${listed(alike)}.`;
  if (usable.length > 0) return `Use one of ${listed(usable)}.`;
  return `Agent "${call.agentName}" has no tools; answer without one.`;
}

function checkKnown(call: CallUnderCheck): Denial | undefined {
  if (memberOf(call.tools, call.tool) !== undefined) return undefined;
  const message = `There is no tool "${call.tool}" in this session.`;
  return { code: 'TOOL_UNKNOWN', check: 'known', message, fix: advice(call) };
}

function checkRole(call: CallUnderCheck, tool: ToolDefinition): Denial | undefined {
  const { agentName, rights } = call;
  if (rights?.checks?.includes(call.tool) === true) return undefined;
  if (rights === undefined || !rights.tools.includes(call.tool)) {
    const message = `Agent "${agentName}" does not list the tool "${tool.name}".`;
    const fix = `${advice(call)} Or add it to the agent's tools.`;
    return { code: 'TOOL_NOT_LISTED', check: 'role', message, fix };
  }
  if (tool.roles.includes('*') || tool.roles.includes(rights.role)) return undefined;
  const allowed = tool.roles.length === 0 ? 'no role' : listed(tool.roles);
  const message = `Role "${rights.role}" may not call "${tool.name}"; it is for ${allowed}.`;
  const fix = 'Give the task to an agent with such a role, or add the role to the tool.';
  return { code: 'ROLE_NOT_ALLOWED', check: 'role', message, fix };
}

function checkRisk({ riskMax }: CallUnderCheck, tool: ToolDefinition): Denial | undefined {
  if (riskOrder.indexOf(tool.risk) <= riskOrder.indexOf(riskMax)) return undefined;
  const message = `Tool "${tool.name}" has risk ${tool.risk}; this session allows ${riskMax}.`;
  const fix = `Use a tool of lower risk, or submit the goal with riskMax "${tool.risk}".`;
  return { code: 'RISK_TOO_HIGH', check: 'risk', message, fix };
}

function checkSize({ argumentBytes }: CallUnderCheck, tool: ToolDefinition): Denial | undefined {
  if (argumentBytes <= tool.argumentBytesMax) return undefined;
  const message =
    `The arguments of "${tool.name}" are ${argumentBytes} bytes as JSON; ` +
    `the limit is ${tool.argumentBytesMax}.`;
  const fix = 'Send less at once: split the call, or pass a reference such as a path.';
  return { code: 'ARGUMENTS_TOO_LARGE', check: 'size', message, fix };
}

/** The members that a schema asks for, as advice: `path (string, required)`. */
function wanted(tool: ToolDefinition): string {
  const { properties, required } = tool.inputSchema;
  if (typeof properties !== 'object' || properties === null) return 'Follow its input schema.';
  const needed = Array.isArray(required) ? required : [];
  const members = sortedEntries(properties as JsonObject).map(([name, member]) => {
    const type = typeof member === 'object' && member !== null ? Reflect.get(member, 'type') : '';
    const notes = [String(type ?? 'any'), ...(needed.includes(name) ? ['required'] : [])];
    return `${name} (${notes.filter((note) => note !== '').join(', ')})`;
  });
  return `"${tool.name}" takes ${members.slice(0, 16).join('; ') || 'no arguments'}.`;
}

function checkArguments(call: CallUnderCheck, tool: ToolDefinition): Denial | undefined {
  const problem = valueProblem(tool.inputSchema, call.arguments, 'the arguments');
  if (problem === undefined) return undefined;
  if (problem.kind === 'schema') {
    const message = `The input schema of "${tool.name}" is not valid: ${problem.message}.`;
    const fix = 'Correct the schema in the tool file; the call itself cannot be judged.';
    return { code: 'TOOL_SCHEMA_INVALID', check: 'arguments', message, fix };
  }
  const more = problem.more > 0 ? `; and ${problem.more} more` : '';
  const said = `${problem.problems.join('; ')}${more}`;
  const message = `The arguments of "${tool.name}" are not valid: ${said}.`;
  return { code: 'ARGUMENTS_INVALID', check: 'arguments', message, fix: wanted(tool) };
}

const ofTool = [checkRole, checkRisk, checkSize, checkArguments];

/** The first reason to deny the call, or the tool's definition if there is none. */
export function checkCall(call: CallUnderCheck): Denial | ToolDefinition {
  const early = checkEnded(call) ?? checkKnown(call);
  if (early !== undefined) return early;
  const tool = memberOf(call.tools, call.tool) as ToolDefinition;
  for (const check of ofTool) {
    const denial = check(call, tool);
    if (denial !== undefined) return denial;
  }
  return tool;
}
