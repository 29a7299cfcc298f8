import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../../../schemas/json.ts';
import type { ToolCall, ToolOutcome } from '../../chassis/effects/tool-port.ts';
import { toError } from '../../chassis/errors.ts';
import {
  type BuiltinOptions,
  type BuiltinTool,
  failed,
  invalidArguments,
  isObject,
} from './builtin-tool.ts';

const namePattern = '^[a-z0-9][a-z0-9-]{0,63}$';

/** A side effect that can be counted: each run adds a line with its call id to `<counter>.log`. */
export const counterIncrement: BuiltinTool = {
  definition: {
    name: 'counter.increment',
    version: '1.0.0',
    description:
      'Adds one line to the file of a counter. Each run counts: it must not be repeated.',
    inputSchema: {
      type: 'object',
      properties: { counter: { type: 'string', pattern: namePattern } },
      required: ['counter'],
      additionalProperties: false,
    },
    category: 'test',
    risk: 'medium',
    sideEffects: 'write',
    idempotent: false,
    runner: { kind: 'builtin', name: 'counter.increment' },
    roles: [],
    timeoutMs: 5_000,
    argumentBytesMax: 1_024,
    resultBytesMax: 1_024,
  },
  run: increment,
};

async function increment(call: ToolCall, options: BuiltinOptions): Promise<ToolOutcome> {
  const counter = counterOf(call.arguments);
  if (counter === undefined) {
    const message = 'The argument `counter` is not the name of a counter.';
    return invalidArguments(message, `Give a text that matches ${namePattern}.`);
  }
  try {
    await mkdir(options.counterDirectory, { recursive: true });
    // One write in append mode, so that lines of several processes never mix.
    await appendFile(join(options.counterDirectory, `${counter}.log`), `${call.callId}\n`);
  } catch (error) {
    const message = `The counter ${counter} cannot be written: ${toError(error).message}`;
    const fix = 'Make the directory of the counters writable.';
    return failed({ code: 'TOOL_STORAGE', message, class: 'unavailable', retryable: true, fix });
  }
  return { kind: 'completed', result: { counter, callId: call.callId } };
}

function counterOf(value: JsonValue): string | undefined {
  const counter = isObject(value) ? value.counter : undefined;
  if (typeof counter !== 'string') return undefined;
  return new RegExp(namePattern).test(counter) ? counter : undefined;
}
