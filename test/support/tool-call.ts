/** Tool calls and definitions for tests of what carries them out. */
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { ToolCall, ToolOutcome } from '../../services/chassis/effects/tool-port.ts';

export function toolDefinition(changes: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name: 'test.tool',
    version: '1.0.0',
    description: 'A tool for tests.',
    inputSchema: { type: 'object' },
    category: 'test',
    risk: 'low',
    sideEffects: 'read',
    idempotent: true,
    runner: { kind: 'builtin', name: 'echo' },
    roles: [],
    timeoutMs: 10_000,
    argumentBytesMax: 1_000_000,
    resultBytesMax: 1_000_000,
    ...changes,
  };
}

type CallChanges = Readonly<{
  definition?: Partial<ToolDefinition>;
  timeMs?: number;
  signal?: AbortSignal;
  traceparent?: string;
}>;

/** A call whose deadline is `timeMs` (default 10 s) from now. */
export function toolCall(given: JsonValue, changes: CallChanges = {}): ToolCall {
  const { traceparent, signal = new AbortController().signal, timeMs = 10_000 } = changes;
  const definition = toolDefinition(changes.definition);
  return {
    callId: 'call-1',
    tool: definition.name,
    arguments: given,
    deadlineAtMs: Date.now() + timeMs,
    signal,
    definition,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** The failure of an outcome that must not be `completed`. */
export function errorOf(outcome: ToolOutcome) {
  if (outcome.kind === 'completed') throw new Error('the call completed');
  return outcome.error;
}

/** The result of an outcome that must be `completed`. */
export function resultOf(outcome: ToolOutcome): JsonValue {
  if (outcome.kind !== 'completed') throw new Error(outcome.error.message);
  return outcome.result;
}
