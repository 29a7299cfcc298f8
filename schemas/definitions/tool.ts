import type { JsonObject } from '../json.ts';

export type ToolRisk = 'low' | 'medium' | 'high' | 'critical';
export type ToolSideEffects = 'none' | 'read' | 'write' | 'destructive';

/**
 * Who carries a call out: code of this program, a tool of an MCP server, or code that the call
 * brings along. An MCP server that `checks` is itself asked which tools it has, and none is called. `person`: nobody, the agent waits for an answer; only the built-in `ask_person` has it. `agent`: another
 * agent does it; only the built-in `delegate` and `handoff` have it.
 */
export type ToolRunnerReference =
  | Readonly<{ kind: 'builtin'; name: string }>
  | Readonly<{ kind: 'mcp'; server: string; tool: string; checks?: true }>
  | Readonly<{ kind: 'sandbox'; language: 'javascript' }>
  | Readonly<{ kind: 'person' }>
  | Readonly<{ kind: 'agent' }>;

/** When calls of a tool are turned away because it does not work. */
export type ToolBreakerRules = Readonly<{
  /** Calls in a row that fail for reasons that speak of the tool and not of the call. */
  failuresMax: number;
  /** How long no call is made then; doubles with each probe that fails. */
  coolMs: number;
}>;

/** A tool as the registry knows it. `inputSchema` and `outputSchema` are JSON Schema objects. */
export type ToolDefinition = Readonly<{
  name: string;
  version: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  category: string;
  risk: ToolRisk;
  sideEffects: ToolSideEffects;
  /**
   * The same call twice has the effect of one: it may be run again when nobody saw how it ended.
   */
  idempotent: boolean;
  runner: ToolRunnerReference;
  /** Roles of agents that may call it. */
  roles: readonly string[];
  timeoutMs: number;
  /** The longest that an MCP server may work on a call without telling of progress; absent: up to `timeoutMs`. */
  silenceMs?: number;
  /** Of the arguments as JSON text in UTF-8. */
  argumentBytesMax: number;
  /** Of the result as JSON text in UTF-8. */
  resultBytesMax: number;
  /** Absent: calls are made whatever became of those before. */
  breaker?: ToolBreakerRules;
}>;
