/**
 * The question to an MCP server before an agent begins: is it well, and has it the tools that the agent will call? It is a
 * call like others, of a tool that a session pins for each server that its agents need, so permit, claim, outcome, cancel
 * and record are those of every call. No file defines it, and no model is told of it. Pure.
 */

import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';
import type { McpServerDefinition } from '../../../schemas/definitions/mcp-server.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';

type Tools = Readonly<Record<string, ToolDefinition>>;
type Agents = Readonly<Record<string, AgentDefinition>>;

/** One question of an agent: `check` is the tool that asks, `tools` are those that the agent needs of the server. */
export type ServerCheck = Readonly<{ check: string; tools: readonly string[] }>;

const prefix = 'mcp.check.';

/** The first form of templates whose agents ask. */
const checkingForm = 5;

/** Where no server says how long its start may take. */
const startTimeoutMsDefault = 10_000;

export const isServerCheck = (tool: string): boolean => tool.startsWith(prefix);

const own = <T>(all: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(all, name) ? all[name] : undefined;

function serverOf(tools: Tools, name: string): string | undefined {
  const runner = own(tools, name)?.runner;
  return runner?.kind === 'mcp' ? runner.server : undefined;
}

/** The servers of an agent's tools with those tools, in an order that only depends on names. */
function needsOf({ tools: names }: AgentDefinition, tools: Tools): readonly [string, string[]][] {
  const needs = new Map<string, string[]>();
  for (const name of [...names].sort()) {
    const server = serverOf(tools, name);
    if (server !== undefined) needs.set(server, [...(needs.get(server) ?? []), name]);
  }
  return [...needs].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The agents of files: who needs an MCP server asks it, unless the template says otherwise. */
export function withServerChecks(agents: Agents, tools: Tools): Record<string, AgentDefinition> {
  const completed = Object.entries(agents).map(([name, agent]): [string, AgentDefinition] => {
    const skips = agent.provisioning?.servers === 'skip';
    if (skips || needsOf(agent, tools).length === 0) return [name, agent];
    return [name, { ...agent, form: checkingForm, provisioning: { servers: 'check' } }];
  });
  return Object.fromEntries(completed);
}

const asks = ({ form, provisioning }: AgentDefinition): boolean =>
  form !== undefined && form >= checkingForm && provisioning?.servers === 'check';

/** What the agent asks before it begins; nothing in sessions that pinned no such question. */
export function serverChecksOf(agent: AgentDefinition, tools: Tools): readonly ServerCheck[] {
  if (!asks(agent)) return [];
  return needsOf(agent, tools)
    .map(([server, needed]) => ({ check: prefix + server, tools: needed }))
    .filter(({ check }) => own(tools, check) !== undefined);
}

/** A start and an answer may each take as long as the file of the server allows. */
function checkTool(server: string, startTimeoutMs: number): ToolDefinition {
  return {
    name: prefix + server,
    version: '1.0.0',
    description: `Asks the MCP server ${server} which tools it has.`,
    inputSchema: {
      type: 'object',
      properties: { tools: { type: 'array', items: { type: 'string' } } },
      required: ['tools'],
      additionalProperties: false,
    },
    category: 'provisioning',
    risk: 'low',
    sideEffects: 'none',
    idempotent: true,
    runner: { kind: 'mcp', server, tool: '*', checks: true },
    roles: ['*'],
    timeoutMs: 2 * startTimeoutMs,
    argumentBytesMax: 262_144,
    resultBytesMax: 1_048_576,
  };
}

/** The tools that ask, for all servers of these agents. */
export function serverCheckTools(
  agents: readonly AgentDefinition[],
  catalog: Readonly<{ tools: Tools; mcpServers: Readonly<Record<string, McpServerDefinition>> }>,
): Record<string, ToolDefinition> {
  const servers = agents
    .filter(asks)
    .flatMap((agent) => needsOf(agent, catalog.tools).map(([server]) => server));
  const made = [...new Set(servers)].sort().map((server): [string, ToolDefinition] => {
    const { startTimeoutMs = startTimeoutMsDefault } = own(catalog.mcpServers, server) ?? {};
    return [prefix + server, checkTool(server, startTimeoutMs)];
  });
  return Object.fromEntries(made);
}
