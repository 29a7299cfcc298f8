/**
 * Walks a parsed expression once, at compile time: refuses what is not a function of the data
 * alone, and notes the places that evaluation has to watch. Nothing is evaluated here.
 */

import { impureFunctions } from './built-ins.ts';
import { slowRegexReason } from './regex.ts';

/** The nodes to watch while evaluating, and whether the evaluator may write into the data. */
export type Syntax = Readonly<{
  procedures: ReadonlySet<object>;
  updates: ReadonlySet<object>;
  writes: boolean;
  /** Names of all variables and functions in it, without the dollar. */
  variables: ReadonlySet<string>;
}>;

/**
 * One reason to refuse an expression; `position` counts characters from the start of the source.
 */
export type Refusal = Readonly<{ position: number; reason: string; fix: string }>;

// Every object answers to these names without having them, and through some of them code gets out.
const inheritedNames = new Set([
  ...['constructor', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable', 'toLocaleString'],
  ...['toString', 'valueOf', '__proto__', '__defineGetter__', '__defineSetter__'],
  ...['__lookupGetter__', '__lookupSetter__'],
]);

/** The places to watch in `ast`, or the first reason to refuse it. */
export function inspectSyntax(ast: unknown): Syntax | Refusal {
  const procedures = new Set<object>();
  const updates = new Set<object>();
  const variables = new Set<string>();
  let writes = false;
  for (const node of nodesOf(ast)) {
    const refusal = refusalOf(node);
    if (refusal !== undefined) return { ...refusal, position: positionOf(node) };
    for (const name of variablesOf(node)) variables.add(name);
    // The evaluator looks this one up by itself.
    if (node.type === 'transform') variables.add('clone');
    if (isNode(node.procedure)) procedures.add(node.procedure);
    if (node.type === 'transform' && isNode(node.update)) updates.add(node.update);
    writes ||= node.type === 'transform' || keepsArray(node);
  }
  return { procedures, updates, writes, variables };
}

type Node = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !(value instanceof RegExp);
}

function* nodesOf(ast: unknown): Generator<Node> {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [ast];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (!isNode(next) || seen.has(next)) continue;
    seen.add(next);
    if (!Array.isArray(next)) yield next;
    waiting.push(...Object.values(next).reverse());
  }
}

/** For "[]" the evaluator marks the array that it found, and that may be one of the data. */
function keepsArray(node: Node): boolean {
  return node.keepArray === true || node.keepSingletonArray === true;
}

function refusalOf(node: Node): Omit<Refusal, 'position'> | undefined {
  for (const name of variablesOf(node)) {
    if (impureFunctions.has(name)) return impure(name);
    if (name.startsWith('__') || inheritedNames.has(name)) return reserved(`$${name}`);
  }
  const { type, value } = node;
  if (type === 'name' && typeof value === 'string') {
    if (inheritedNames.has(value)) return reserved(value);
  }
  if (type === 'regex' && value instanceof RegExp) return slow(value.source);
  return undefined;
}

function variablesOf(node: Node): string[] {
  const names = [node.focus, node.index];
  if (node.type === 'variable' || node.type === 'index') names.push(node.value);
  return names.filter((name) => typeof name === 'string');
}

function impure(name: string): Omit<Refusal, 'position'> {
  return {
    reason: `$${name} is not allowed: the result must depend on the data alone`,
    fix: `Pass what $${name} would give as an input, and read it from there.`,
  };
}

function reserved(name: string): Omit<Refusal, 'position'> {
  return {
    reason: `the name ${name} is reserved`,
    fix: 'Use another name; to read a field of that name, use $lookup(object, "name").',
  };
}

function slow(source: string): Omit<Refusal, 'position'> | undefined {
  const why = slowRegexReason(source);
  if (why === undefined) return undefined;
  return {
    reason: `the regular expression may take time without end: ${why}`,
    fix: 'Use a character class, or split the text first and test the parts.',
  };
}

function positionOf(node: Node): number {
  return typeof node.position === 'number' ? node.position : 0;
}
