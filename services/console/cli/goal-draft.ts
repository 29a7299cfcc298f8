/** A goal out of what was written behind `goal submit`. Pure; the file is read elsewhere. */
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { UsageError } from './exit-code.ts';

export interface GoalParts {
  /** The goal as the file has it; what is named by options stands before it. */
  readonly file?: JsonObject;
  readonly goal?: string;
  readonly plan?: string;
  readonly inputs: readonly string[];
  readonly context: readonly string[];
  readonly labels: readonly string[];
  readonly key?: string;
  readonly priority?: string;
  readonly tenant?: string;
  readonly budgetUsd?: string;
  readonly timeoutSeconds?: string;
  readonly id?: string;
}

/** A goal as JSON. Throws UsageError, which names the option. */
export function goalOf(parts: GoalParts): JsonObject {
  const { file = {}, goal, plan, key, priority, tenant, id } = parts;
  const inputs = merged('input', file['inputs'], pairs('--input', parts.inputs, jsonOrText));
  const context = merged('context', file['context'], pairs('--context', parts.context, jsonOrText));
  const labels = merged('label', file['labels'], pairs('--label', parts.labels, String));
  const named = { goal, plan, key, priority, tenant, id, inputs, context, labels };
  const limits = {
    budgetNanoUsd: parts.budgetUsd === undefined ? undefined : nanoUsd(parts.budgetUsd),
    timeoutMs: parts.timeoutSeconds === undefined ? undefined : millis(parts.timeoutSeconds),
  };
  const given = Object.entries({ ...named, ...limits }).filter(
    (pair): pair is [string, JsonValue] => pair[1] !== undefined,
  );
  return withText({ ...file, ...Object.fromEntries(given) });
}

/** A plan says what is to be done; a goal without words of its own is called after it. */
function withText(goal: JsonObject): JsonObject {
  if (goal['goal'] !== undefined) return goal;
  const plan = goal['plan'];
  if (typeof plan === 'string') return { ...goal, goal: `Run the plan ${plan}` };
  throw new UsageError(
    'there is no goal',
    'Give --goal TEXT, --plan NAME or --file FILE (see schemas/public/goal.v1.json).',
  );
}

function merged(
  name: string,
  before: JsonValue | undefined,
  more: JsonObject | undefined,
): JsonValue | undefined {
  if (more === undefined) return before;
  if (before === undefined) return more;
  if (typeof before === 'object' && before !== null && !Array.isArray(before)) {
    return { ...before, ...more };
  }
  throw new UsageError(`--${name} adds to an object, but the file has another kind of value`, '');
}

function pairs(
  option: string,
  texts: readonly string[],
  read: (text: string) => JsonValue,
): JsonObject | undefined {
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at > 0) return [text.slice(0, at), read(text.slice(at + 1))] as const;
      throw new UsageError(
        `${option} "${text}" is not NAME=VALUE`,
        `Write for instance: ${option} path=package-lock.json`,
      );
    }),
  );
}

/** `3`, `true`, `{"a":1}` are JSON; what does not parse is text. */
export function jsonOrText(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** Dollars as whole nano-USD, digit by digit: no rounding. */
export function nanoUsd(text: string): number {
  const found = /^(\d{0,6})(?:\.(\d{1,9}))?$/.exec(text);
  const whole = found?.[1] ?? '';
  const part = found?.[2] ?? '';
  if (found !== null && whole + part !== '') return Number(whole + part.padEnd(9, '0'));
  throw new UsageError(
    `--budget-usd "${text}" is not an amount`,
    'Write dollars, such as 0.25; at most 9 digits behind the point.',
  );
}

function millis(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  const ms = Math.round(seconds * 1_000);
  if (Number.isSafeInteger(ms) && ms > 0) return ms;
  throw new UsageError(`--timeout "${text}" is not a time`, 'Write seconds, such as 30.');
}
