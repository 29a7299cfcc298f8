/**
 * Turns what an expression gave into plain JSON: arrays without the evaluator's extra properties,
 * objects with own properties only, no functions, no holes. Every value is charged, so that a small
 * expression cannot grow into a result without end.
 */

import type { JsonValue } from '../../../schemas/json.ts';

/** What the conversion needs from its caller: the account, and how to refuse a value. */
export type PlainJsonRules = Readonly<{
  charge(steps: number): void;
  refuse(what: string): never;
  depthMax: number;
}>;

/** `value` as plain JSON; undefined is null at the top and in arrays, and left out of objects. */
export function toPlainJson(value: unknown, rules: PlainJsonRules): JsonValue {
  return convert(value, rules, 0);
}

function convert(value: unknown, rules: PlainJsonRules, depth: number): JsonValue {
  rules.charge(1);
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return finite(value, rules);
  if (depth >= rules.depthMax) return rules.refuse(`a result nested deeper than ${rules.depthMax}`);
  if (Array.isArray(value)) return value.map((item) => convert(item, rules, depth + 1));
  if (typeof value !== 'object' || isFunctionLike(value)) return rules.refuse('a function');
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]): [string, JsonValue] => [key, convert(member, rules, depth + 1)]);
  return Object.fromEntries(members);
}

function finite(value: number, rules: PlainJsonRules): number {
  if (!Number.isFinite(value)) return rules.refuse('a number that JSON cannot hold');
  return value === 0 ? 0 : value;
}

/** Whether `value` is a function of the host language or of the expression language. */
export function isFunctionLike(value: unknown): boolean {
  if (typeof value === 'function') return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '_jsonata_function') || Object.hasOwn(value, '_jsonata_lambda');
}
