import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonValue } from '../../../schemas/json.ts';
import type { ToolCall, ToolOutcome } from '../../chassis/effects/tool-port.ts';
import { type BuiltinTool, invalidArguments, isObject } from './builtin-tool.ts';

const waitMsMax = 3_600_000;

/** Waits `waitMs`; the signal of the call ends it early. */
export const clockWait: BuiltinTool = {
  definition: {
    name: 'clock.wait',
    version: '1.0.0',
    description: 'Waits for a number of milliseconds and returns that number.',
    inputSchema: {
      type: 'object',
      properties: { waitMs: { type: 'integer', minimum: 0, maximum: waitMsMax } },
      required: ['waitMs'],
      additionalProperties: false,
    },
    category: 'time',
    risk: 'low',
    sideEffects: 'none',
    idempotent: true,
    runner: { kind: 'builtin', name: 'clock.wait' },
    roles: [],
    timeoutMs: waitMsMax,
    argumentBytesMax: 1_024,
    resultBytesMax: 1_024,
  },
  run: wait,
};

async function wait(call: ToolCall): Promise<ToolOutcome> {
  const waitMs = waitMsOf(call.arguments);
  if (waitMs === undefined) {
    const message = 'The argument `waitMs` is not a number of milliseconds.';
    return invalidArguments(message, `Give a whole number from 0 to ${waitMsMax}.`);
  }
  await sleep(waitMs, undefined, { signal: call.signal });
  return { kind: 'completed', result: { waitedMs: waitMs } };
}

function waitMsOf(value: JsonValue): number | undefined {
  const waitMs = isObject(value) ? value.waitMs : undefined;
  if (typeof waitMs !== 'number' || !Number.isInteger(waitMs)) return undefined;
  return waitMs >= 0 && waitMs <= waitMsMax ? waitMs : undefined;
}
