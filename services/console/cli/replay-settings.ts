/** What `--set`, `--tools mock` and the options of a backtest say, as a candidate. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import type { Mock } from '../../../replay-tools/fork/answers.ts';
import type { Policy, Setting } from '../../../replay-tools/fork/candidate.ts';
import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { toError } from '../../chassis/errors.ts';
import type { Call } from './context.ts';
import { UsageError } from './exit-code.ts';

const forms =
  'prompt[.agent]=TEXT, system[.agent]=TEXT, model[.agent]=NAME, input.NAME=VALUE, policy=@FILE, tool=@FILE, plan=@FILE';

async function readText(call: Pick<Call, 'workingDir'>, file: string): Promise<string> {
  try {
    return await readFile(resolve(call.workingDir, file), 'utf8');
  } catch (thrown) {
    const message = `${file} cannot be read: ${toError(thrown).message}`;
    throw new UsageError(message, 'Name a file that exists.');
  }
}

/** A YAML or JSON file. */
async function readData(call: Pick<Call, 'workingDir'>, file: string): Promise<JsonValue> {
  const text = await readText(call, file);
  try {
    return parse(text) as JsonValue;
  } catch (thrown) {
    throw new UsageError(
      `${file} is not YAML or JSON: ${toError(thrown).message}`,
      'Correct it there.',
    );
  }
}

const isObject = (value: JsonValue): value is { [name: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function definition(
  call: Call,
  what: 'policy' | 'tool' | 'plan',
  value: string,
): Promise<Setting> {
  const file = value.replace(/^@/, '');
  const data = await readData(call, file);
  const isNamed = isObject(data) && (what === 'policy' || typeof data['name'] === 'string');
  if (!isNamed) {
    const wanted =
      what === 'policy' ? 'an object with `deny` or `riskMax`' : `a ${what} with a name`;
    throw new UsageError(
      `${file} is not ${wanted}`,
      `See docs/replay.md for what a ${what} file holds.`,
    );
  }
  if (what === 'policy') return { what, policy: data as unknown as Policy };
  if (what === 'tool') return { what, tool: data as unknown as ToolDefinition };
  return { what, plan: data as unknown as PlanDefinition };
}

const jsonOf = (text: string): JsonValue => {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // A value that is no JSON is text.
    return text;
  }
};

/** One `--set`. Throws UsageError. */
export async function settingOf(call: Call, text: string): Promise<Setting> {
  const [, what = '', of, value] = /^([a-z]+)(?:\.([^=]+))?=([\s\S]*)$/.exec(text) ?? [];
  if (value === undefined)
    throw new UsageError(`--set "${text}" has no form that is known`, `One of: ${forms}.`);
  switch (what) {
    case 'prompt':
    case 'system':
    case 'model': {
      const said = value.startsWith('@') ? await readText(call, value.slice(1)) : value;
      return of === undefined ? { what, value: said } : { what, value: said, agent: of };
    }
    case 'policy':
    case 'tool':
    case 'plan':
      return await definition(call, what, value);
    case 'input':
      if (of !== undefined) return { what, name: of, value: jsonOf(value) };
      throw new UsageError(
        '--set input needs the name of an input',
        'Write --set input.NAME=VALUE.',
      );
    default:
      throw new UsageError(`--set knows no "${what}"`, `One of: ${forms}.`);
  }
}

/** Mocks from a file: a list, each with `tool` or `model`, and what it answers. Throws UsageError. */
export async function mocksOf(call: Call, file: string): Promise<readonly Mock[]> {
  const data = await readData(call, file);
  const list = Array.isArray(data) ? data : [data];
  const wrong = list.findIndex((one) => !isObject(one) || !('tool' in one || 'model' in one));
  if (wrong < 0) return list as unknown as readonly Mock[];
  const fix =
    'Write a list of {tool: name, arguments?: {…}, result: …}, or {model: name, text: …}.';
  throw new UsageError(`mock ${wrong + 1} of ${file} names no tool and no model`, fix);
}
