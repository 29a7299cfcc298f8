/**
 * The functions that expressions may call. Each evaluation gets its own copies, because the
 * evaluator writes positions into the function it calls: shared ones would carry the history of one
 * evaluation into the errors of the next, and replay would differ.
 */

import jsonata from 'jsonata';
import { isFunctionLike } from './plain-json.ts';

/** Functions whose result does not depend on the data alone, or that run text as code. */
export const impureFunctions: ReadonlySet<string> = new Set([
  'now',
  'millis',
  'random',
  'shuffle',
  'eval',
]);

type BuiltIn = Readonly<{
  implementation: (this: unknown, ...values: unknown[]) => unknown;
  signature?: unknown;
}>;

const names = [
  ...['abs', 'append', 'assert', 'average', 'base64decode', 'base64encode', 'boolean', 'ceil'],
  ...['clone', 'contains', 'count', 'decodeUrl', 'decodeUrlComponent', 'distinct', 'each'],
  ...['encodeUrl', 'encodeUrlComponent', 'error', 'exists', 'filter', 'floor', 'formatBase'],
  ...['formatInteger', 'formatNumber', 'fromMillis', 'join', 'keys', 'length', 'lookup'],
  ...['lowercase', 'map', 'match', 'max', 'merge', 'min', 'not', 'number', 'pad', 'parseInteger'],
  ...['power', 'reduce', 'replace', 'reverse', 'round', 'sift', 'single', 'sort', 'split'],
  ...['spread', 'sqrt', 'string', 'substring', 'substringAfter', 'substringBefore', 'sum'],
  ...['toMillis', 'trim', 'type', 'uppercase', 'zip'],
];

const library = new Map(names.map((name) => [name, definitionOf(name)]));

/**
 * Fresh bindings for one evaluation, of those functions that the expression names: it can reach no
 * others. `charge` is told how much work a call can cause at once.
 */
export function bindBuiltIns(
  charge: (steps: number) => void,
  named: ReadonlySet<string>,
): Record<string, unknown> {
  const bindings: Record<string, unknown> = {};
  for (const name of impureFunctions) bindings[name] = undefined;
  for (const name of named) {
    const definition = library.get(name);
    if (definition !== undefined) bindings[name] = { ...definition };
  }
  replace(bindings, 'lookup', (_original) => ownLookup);
  replace(bindings, 'toMillis', (original) => inUtc(original));
  replace(bindings, 'pad', (original) => chargedPad(original, charge));
  return bindings;
}

function definitionOf(name: string): BuiltIn {
  const definition: BuiltIn = jsonata(`$${name}`).evaluate(undefined);
  return definition;
}

function replace(
  bindings: Record<string, unknown>,
  name: string,
  change: (original: BuiltIn['implementation']) => BuiltIn['implementation'],
): void {
  const definition = library.get(name);
  if (definition === undefined || bindings[name] === undefined) return;
  bindings[name] = { ...definition, implementation: change(definition.implementation) };
}

/** $lookup on own fields only: inherited ones lead out of the data. */
function ownLookup(input: unknown, key: unknown): unknown {
  if (Array.isArray(input)) {
    const found = input.map((item) => ownLookup(item, key)).filter((value) => value !== undefined);
    return found.length === 0 ? undefined : found.length === 1 ? found[0] : found.flat();
  }
  if (typeof input !== 'object' || input === null || isFunctionLike(input)) return undefined;
  if (typeof key !== 'string' || !Object.hasOwn(input, key)) return undefined;
  return Reflect.get(input, key);
}

/**
 * $toMillis with UTC where the text names no zone: the host's own zone would differ between hosts.
 */
function inUtc(original: BuiltIn['implementation']): BuiltIn['implementation'] {
  return function toMillis(this: unknown, timestamp: unknown, picture: unknown): unknown {
    const zoneless = typeof timestamp === 'string' && !/(?:Z|[+-]\d\d:?\d\d)$/.test(timestamp);
    const dateOnly = /^\d{4}(?:-\d\d){0,2}$/;
    const ambiguous = picture === undefined && zoneless && !dateOnly.test(timestamp);
    return original.call(this, ambiguous ? `${timestamp}Z` : timestamp, picture);
  };
}

/** $pad charges its width first: the evaluator would build the text before it could be measured. */
function chargedPad(
  original: BuiltIn['implementation'],
  charge: (steps: number) => void,
): BuiltIn['implementation'] {
  return function pad(this: unknown, str: unknown, width: unknown, char: unknown): unknown {
    if (typeof width === 'number') charge(Math.abs(width));
    return original.call(this, str, width, char);
  };
}
