/** The built-in tools behind the tool port: found by the name in the definition's runner. */
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import { type Deadline, startDeadline } from '../../chassis/effects/deadline.ts';
import type {
  ToolCall,
  ToolFailure,
  ToolOutcome,
  ToolRunner,
} from '../../chassis/effects/tool-port.ts';
import { toError } from '../../chassis/errors.ts';
import { type BuiltinOptions, type BuiltinTool, failed } from './builtin-tool.ts';
import { clockWait } from './clock-wait.ts';
import { counterIncrement } from './counter-increment.ts';
import { echo } from './echo.ts';

const builtinTools: readonly BuiltinTool[] = [echo, clockWait, counterIncrement];

/**
 * The definitions of all built-in tools, as a registry would hold them; `roles` is empty, to be
 * filled in.
 */
export const builtinDefinitions: readonly ToolDefinition[] = builtinTools.map(
  (tool) => tool.definition,
);

/** The runner of tools whose `runner.kind` is `builtin`. */
export function createBuiltinRunner(options: BuiltinOptions): ToolRunner {
  const byName = new Map(builtinTools.map((tool) => [tool.definition.name, tool]));
  const closing = new AbortController();
  return {
    run: (call) => {
      const { runner } = call.definition;
      const tool = runner.kind === 'builtin' ? byName.get(runner.name) : undefined;
      if (tool === undefined) return Promise.resolve(unknownTool(call, [...byName.keys()]));
      return runGuarded(tool, { call, closing: closing.signal, options });
    },
    close: () => Promise.resolve(closing.abort()),
  };
}

type Guarded = Readonly<{ call: ToolCall; closing: AbortSignal; options: BuiltinOptions }>;

async function runGuarded(
  tool: BuiltinTool,
  { call, closing, options }: Guarded,
): Promise<ToolOutcome> {
  const remainingMs = Math.min(call.deadlineAtMs - options.nowMs(), call.definition.timeoutMs);
  const deadline = startDeadline([call.signal, closing], remainingMs);
  try {
    if (deadline.signal.aborted) throw new Error('it could not start any more');
    return await tool.run({ ...call, signal: deadline.signal }, options);
  } catch (error) {
    return failed(endOf(call, deadline, toError(error)));
  } finally {
    deadline.clear();
  }
}

function endOf(call: ToolCall, deadline: Deadline, error: Error): ToolFailure {
  if (deadline.isExpired()) {
    const message = `The call of ${call.tool} did not end before its deadline.`;
    const fix = 'Ask for less in one call, or give the task more time.';
    return { code: 'TOOL_DEADLINE', message, class: 'timeout', retryable: true, fix };
  }
  if (deadline.signal.aborted) {
    const message = `The call of ${call.tool} was cancelled.`;
    return { code: 'TOOL_CANCELLED', message, class: 'cancelled', retryable: false };
  }
  const message = `The tool ${call.tool} broke: ${error.message}`;
  return { code: 'TOOL_BROKE', message, class: 'crashed', retryable: false };
}

function unknownTool(call: ToolCall, names: readonly string[]): ToolOutcome {
  const { runner } = call.definition;
  const asked = runner.kind === 'builtin' ? runner.name : `(runner of kind ${runner.kind})`;
  return failed({
    code: 'TOOL_UNKNOWN',
    message: `There is no built-in tool ${asked}, which ${call.tool} names as its runner.`,
    class: 'not-found',
    retryable: false,
    fix: `Name one of ${names.join(', ')} in the definition of ${call.tool}.`,
  });
}
