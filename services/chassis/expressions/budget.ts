/**
 * The account of one evaluation: steps, depth and sizes, counted by what is done and never by time,
 * so that the same expression over the same data ends at the same place on every machine. It also
 * keeps the expression inside its data: functions cannot be opened like objects, nor data called or
 * written to.
 */

import { LongreinError } from '../errors.ts';
import { isFunctionLike } from './plain-json.ts';
import type { Syntax } from './syntax.ts';

/** What one evaluation may use. `stepsMax` counts evaluated nodes and the values they pass on. */
export type ExpressionLimits = Readonly<{
  stepsMax: number;
  depthMax: number;
  charactersMax: number;
  itemsMax: number;
}>;

/**
 * Enough to filter some twenty thousand objects once, and at worst about half a second of a
 * decision. The depth keeps clear of the host's stack, whose end would not be the same everywhere.
 */
export const expressionLimits: ExpressionLimits = {
  stepsMax: 250_000,
  depthMax: 400,
  charactersMax: 4_194_304,
  itemsMax: 250_000,
};

/** Hooks for the evaluator, and the account that the conversion of the result goes on charging. */
export type Budget = Readonly<{
  enter(node: unknown, input: unknown, environment: unknown): void;
  leave(node: unknown, input: unknown, environment: unknown, result: unknown): void;
  charge(steps: number): void;
}>;

// A date with parts left out is completed from the evaluator's date: a fixed one, for the same
// result later.
const fixedDate = new Date(0);

/** A fresh budget. Throws LongreinError EXPRESSION_LIMIT or EXPRESSION_FAILED from its hooks. */
export function createBudget(syntax: Syntax, limits: ExpressionLimits, where: string): Budget {
  let steps = 0;
  let depth = 0;
  const charge = (more: number): void => {
    steps += more;
    if (steps > limits.stepsMax) throw limitError(where, `more than ${limits.stepsMax} steps`);
  };
  return {
    charge,
    enter(node, input, environment) {
      if (steps === 0) Reflect.set(Object(environment), 'timestamp', fixedDate);
      charge(1);
      depth += 1;
      if (depth > limits.depthMax) throw limitError(where, `more than ${limits.depthMax} levels`);
      if (opensValue(node, syntax) && containsFunction(input)) throw opened(where, node);
    },
    leave(node, _input, _environment, result) {
      depth -= 1;
      charge(sizeOf(result, limits, where));
      if (isProcedure(node, syntax) && !isCallable(result)) throw notCallable(where, node);
      if (isSearch(node) && containsFunction(result)) throw opened(where, node);
    },
  };
}

function sizeOf(result: unknown, limits: ExpressionLimits, where: string): number {
  if (typeof result === 'string') {
    if (result.length > limits.charactersMax) {
      throw limitError(where, `a text over ${limits.charactersMax} characters`);
    }
    return Math.ceil(result.length / 64);
  }
  if (!Array.isArray(result)) return 0;
  if (result.length > limits.itemsMax) throw limitError(where, `over ${limits.itemsMax} items`);
  return result.length;
}

function typeOf(node: unknown): unknown {
  return typeof node === 'object' && node !== null ? Reflect.get(node, 'type') : undefined;
}

function isSearch(node: unknown): boolean {
  const type = typeOf(node);
  return type === 'wildcard' || type === 'descendant';
}

function opensValue(node: unknown, syntax: Syntax): boolean {
  if (typeOf(node) === 'name' || isSearch(node)) return true;
  return typeof node === 'object' && node !== null && syntax.updates.has(node);
}

function isProcedure(node: unknown, syntax: Syntax): boolean {
  return typeof node === 'object' && node !== null && syntax.procedures.has(node);
}

function containsFunction(value: unknown): boolean {
  return Array.isArray(value) ? value.some(containsFunction) : isFunctionLike(value);
}

/** Undefined is left to the evaluator, whose own error names the function that is missing. */
function isCallable(result: unknown): boolean {
  const only = Array.isArray(result) && result.length === 1 ? result[0] : result;
  return only === undefined || isFunctionLike(only);
}

function positionText(node: unknown): string {
  const position = typeof node === 'object' && node !== null ? Reflect.get(node, 'position') : 0;
  return typeof position === 'number' ? ` at character ${position}` : '';
}

function opened(where: string, node: unknown): LongreinError {
  const text = `expression in ${where} failed${positionText(node)}: a function has no fields`;
  return new LongreinError('EXPRESSION_FAILED', text, {
    fix: 'Call the function, or name a value.',
  });
}

function notCallable(where: string, node: unknown): LongreinError {
  const text = `expression in ${where} failed${positionText(node)}: this is not a function`;
  return new LongreinError('EXPRESSION_FAILED', text, {
    fix: 'Function names start with $, and a field of the data cannot be called.',
  });
}

function limitError(where: string, what: string): LongreinError {
  return new LongreinError('EXPRESSION_LIMIT', `expression in ${where} was stopped: ${what}`, {
    fix: 'Select less of the data, or do the work in a tool or in the sandbox.',
  });
}
