/** What a built-in tool is: its definition and the code that carries one call out. */
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { ToolCall, ToolFailure, ToolOutcome } from '../../chassis/effects/tool-port.ts';

/** What the built-in tools are given of the world. */
export type BuiltinOptions = Readonly<{
  /** Where `counter.increment` keeps its files; made when first needed. */
  counterDirectory: string;
  /** Milliseconds since 1970, to compare deadlines with. */
  nowMs: () => number;
}>;

export type BuiltinTool = Readonly<{
  definition: ToolDefinition;
  /**
   * May throw, above all when the call's signal fires, which is also its deadline: the runner says
   * why.
   */
  run(call: ToolCall, options: BuiltinOptions): Promise<ToolOutcome>;
}>;

export function failed(error: ToolFailure): ToolOutcome {
  return { kind: 'failed', error };
}

export function invalidArguments(message: string, fix: string): ToolOutcome {
  const code = 'TOOL_ARGUMENTS_INVALID';
  return failed({ code, message, class: 'invalid-arguments', retryable: false, fix });
}

export function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
