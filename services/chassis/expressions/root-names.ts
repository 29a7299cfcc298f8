/**
 * What an expression takes from the data that it is evaluated over: the first two names of each path that begins there.
 * Paths inside predicates begin elsewhere and are passed over: what is listed is sure, what is not may be more.
 */

import jsonata from 'jsonata';

/** `second` is undefined where the path ends, or goes on with something other than a name. */
export type RootName = Readonly<{ first: string; second: string | undefined }>;

type Node = Readonly<Record<string, unknown>>;

/** These are evaluated over other data than the expression itself. */
const elsewhere = new Set(['predicate', 'stages', 'group', 'pattern', 'update', 'delete', 'terms']);

/** Empty for an expression that is not valid. */
export function rootNamesOf(source: string): readonly RootName[] {
  try {
    return [...namesIn(jsonata(source).ast())];
  } catch {
    // What is wrong with it is said where it is compiled.
    return [];
  }
}

function* namesIn(node: unknown): Generator<RootName> {
  if (Array.isArray(node)) {
    for (const one of node) yield* namesIn(one);
    return;
  }
  if (typeof node !== 'object' || node === null || node instanceof RegExp) return;
  const { type, steps } = node as Node;
  if (type === 'path' && Array.isArray(steps)) {
    yield* namesOfPath(steps as readonly Node[]);
    return;
  }
  for (const [name, part] of Object.entries(node)) if (!elsewhere.has(name)) yield* namesIn(part);
}

function* namesOfPath([first, second]: readonly Node[]): Generator<RootName> {
  if (first === undefined) return;
  if (first['type'] !== 'name') {
    yield* namesIn(first);
    return;
  }
  const plain = second?.['type'] === 'name' && !('stages' in first || 'predicate' in first);
  yield {
    first: String(first['value']),
    second: plain ? String(second['value']) : undefined,
  };
}
