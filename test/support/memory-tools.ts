import { createContext, runInContext } from 'node:vm';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { FakeTool } from './memory-effects.ts';

/** What the tools of the example catalogs do in a simulated world, without a process or a file. */

const argumentsOf = (value: JsonValue): JsonObject => value as JsonObject;

const known = new Map<string, JsonValue>();

/** The same code gives the same for the same input, and a context of its own takes long to make. */
function runCode(code: string, input: JsonValue): JsonValue {
  const key = JSON.stringify([code, input]);
  const value = known.get(key) ?? runInSandbox(code, input);
  known.set(key, value);
  return value;
}

/** Runs the code as the sandbox would: the body of a function of `input`. Only for code of tests. */
function runInSandbox(code: string, input: JsonValue): JsonValue {
  const context = createContext({ input: JSON.stringify(input ?? null) });
  const source = `JSON.stringify((function (input) {${code}\n})(JSON.parse(input)) ?? null)`;
  return JSON.parse(runInContext(source, context, { timeout: 2_000 }) as string) as JsonValue;
}

const sandboxRun: FakeTool = ({ arguments: given }) => {
  const { code, input } = argumentsOf(given);
  try {
    const value = runCode(String(code), input ?? null);
    return { afterMs: 4, result: { value, stdout: '' } };
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return { afterMs: 4, failure: { code: 'SANDBOX_THREW', message, retryable: false } };
  }
};

/** `files` by path, for the tools that read them. */
export function worldTools(files: Readonly<Record<string, string>>): Record<string, FakeTool> {
  return {
    'test.echo': ({ arguments: given }) => ({ result: given }),
    'test.wait': ({ arguments: given }) => {
      const waitMs = Number(argumentsOf(given).waitMs);
      return { afterMs: waitMs, result: { waitedMs: waitMs } };
    },
    'test.count': ({ arguments: given, callId }) => ({
      afterMs: 2,
      result: { counter: argumentsOf(given).counter ?? '', callId },
    }),
    'test.flaky': ({ arguments: given }) => ({ result: { name: argumentsOf(given).name ?? '' } }),
    'files.read': ({ arguments: given }) => {
      const path = String(argumentsOf(given).path);
      const content = files[path];
      if (content !== undefined) return { afterMs: 3, result: { content } };
      const message = `There is no file ${path}.`;
      return { failure: { code: 'TOOL_ERROR', class: 'not-found', retryable: false, message } };
    },
    'sandbox.run': sandboxRun,
  };
}
