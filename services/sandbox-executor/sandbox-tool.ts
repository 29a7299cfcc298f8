/**
 * Tool calls that bring their own code: arguments `{code, input?, timeMs?, memoryBytes?}`, result
 * `{value, stdout}`. The sandbox touches nothing outside, so an end that nobody saw is a failure
 * that may be tried again, never `unknown`.
 */
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { startDeadline } from '../chassis/effects/deadline.ts';
import type {
  ToolCall,
  ToolFailure,
  ToolNotes,
  ToolOutcome,
  ToolRunner,
} from '../chassis/effects/tool-port.ts';
import type { SandboxLimits, SandboxReason, SandboxRun, SandboxRunner } from './runners/port.ts';

/** What a call gets unless it asks, and the most that it may ask for. */
export type SandboxAllowance = Readonly<{
  timeMs: number;
  timeMsMax: number;
  memoryBytes: number;
  memoryBytesMax: number;
}>;

export type SandboxToolOptions = Readonly<{
  sandbox: SandboxRunner;
  allowance: SandboxAllowance;
  /** Milliseconds since 1970, to compare deadlines with. */
  nowMs: () => number;
}>;

type Arguments = Readonly<{ code: string; input: JsonValue; timeMs: number; memoryBytes: number }>;

const memoryBytesMin = 1024 * 1024;
const howToWrite =
  'Send the body of a synchronous function: it sees `input`, ends with `return` and a JSON ' +
  'value, and has no import, export, await, network or files.';

/**
 * The runner of tools whose `runner.kind` is `sandbox`. It closes the sandbox that it was given.
 */
export function createSandboxTool(options: SandboxToolOptions): ToolRunner {
  return {
    run: (call) => runCode(options, call),
    close: () => options.sandbox.close(),
  };
}

async function runCode(options: SandboxToolOptions, call: ToolCall): Promise<ToolOutcome> {
  const asked = argumentsOf(call.arguments, options.allowance);
  if ('problem' in asked) return failed(invalid(asked.problem, asked.fix));
  const remainingMs = Math.min(call.deadlineAtMs - options.nowMs(), call.definition.timeoutMs);
  if (remainingMs <= 0) return failed(expired(call));
  const limits: SandboxLimits = {
    timeMs: Math.max(1, Math.floor(Math.min(asked.timeMs, remainingMs))),
    memoryBytes: asked.memoryBytes,
    outputBytes: call.definition.resultBytesMax,
  };
  // Covers the wait for a free sandbox as well, which the time of the run does not.
  const deadline = startDeadline([call.signal], remainingMs);
  const { code, input } = asked;
  const run = await options.sandbox.run({ code, input, limits, signal: deadline.signal });
  deadline.clear();
  return outcomeOf(call, run, { isolation: options.sandbox.isolation, late: deadline.isExpired() });
}

function outcomeOf(
  call: ToolCall,
  run: SandboxRun,
  { isolation, late }: { isolation: string; late: boolean },
): ToolOutcome {
  const notes = notesOf(isolation, run);
  if (run.reason === undefined) {
    return { kind: 'completed', result: { value: run.value ?? null, stdout: run.stdout }, notes };
  }
  const error = run.reason.code === 'aborted' && late ? expired(call) : failureOf(run.reason);
  return failed(error, notes);
}

function notesOf(isolation: string, run: SandboxRun): ToolNotes {
  const { durationMs, memoryBytes } = run.usage;
  const notes = {
    isolation,
    exit: run.exit,
    durationMs,
    stdoutTruncated: run.stdoutTruncated,
  };
  return memoryBytes === undefined ? notes : { ...notes, memoryBytes };
}

function failed(error: ToolFailure, notes?: ToolNotes): ToolOutcome {
  return notes === undefined ? { kind: 'failed', error } : { kind: 'failed', error, notes };
}

function invalid(message: string, fix: string): ToolFailure {
  const code = 'SANDBOX_ARGUMENTS_INVALID';
  return { code, message, class: 'invalid-arguments', retryable: false, fix };
}

function expired(call: ToolCall): ToolFailure {
  const message = `The call of ${call.tool} did not end before its deadline.`;
  const fix = 'Send less work at a time, or give the task more time.';
  return { code: 'SANDBOX_DEADLINE', message, class: 'timeout', retryable: true, fix };
}

type Kind = Readonly<{ code: string; class: ToolFailure['class']; fix?: string }>;

const kinds: Readonly<Record<SandboxReason['code'], Kind>> = {
  threw: { code: 'SANDBOX_CODE_THREW', class: 'tool-error' },
  syntax: { code: 'SANDBOX_CODE_SYNTAX', class: 'invalid-arguments', fix: howToWrite },
  'not-json': { code: 'SANDBOX_RESULT_NOT_JSON', class: 'tool-error', fix: howToWrite },
  time: {
    code: 'SANDBOX_TIME',
    class: 'timeout',
    fix: 'Do less work in one call, or ask for more with `timeMs`.',
  },
  memory: {
    code: 'SANDBOX_MEMORY',
    class: 'limit',
    fix: 'Hold less data at a time, or ask for more with `memoryBytes`.',
  },
  stack: { code: 'SANDBOX_STACK', class: 'limit', fix: 'Use a loop in place of the recursion.' },
  output: { code: 'SANDBOX_OUTPUT', class: 'limit', fix: 'Return and print a summary only.' },
  aborted: { code: 'SANDBOX_CANCELLED', class: 'cancelled' },
  lost: { code: 'SANDBOX_LOST', class: 'crashed' },
};

function failureOf(reason: SandboxReason): ToolFailure {
  const kind = kinds[reason.code];
  return { ...kind, message: reason.message, retryable: reason.code === 'lost' };
}

type Problem = Readonly<{ problem: string; fix: string }>;

function argumentsOf(value: JsonValue, allowance: SandboxAllowance): Arguments | Problem {
  const given = isObject(value) ? value : {};
  const { code, input = null } = given;
  if (typeof code !== 'string' || code.trim() === '') {
    return { problem: 'The argument `code` is missing or not a text.', fix: howToWrite };
  }
  const timeMs = given.timeMs ?? Math.min(allowance.timeMs, allowance.timeMsMax);
  if (!isWithin(timeMs, 1, allowance.timeMsMax)) {
    return outOfRange('timeMs', 1, allowance.timeMsMax);
  }
  const memoryBytes = given.memoryBytes ?? allowance.memoryBytes;
  if (!isWithin(memoryBytes, memoryBytesMin, allowance.memoryBytesMax)) {
    return outOfRange('memoryBytes', memoryBytesMin, allowance.memoryBytesMax);
  }
  return { code, input, timeMs, memoryBytes };
}

function outOfRange(name: string, least: number, most: number): Problem {
  const problem = `The argument \`${name}\` is outside its range.`;
  return { problem, fix: `Give a whole number from ${least} to ${most}, or leave it out.` };
}

function isWithin(value: JsonValue, least: number, most: number): value is number {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
