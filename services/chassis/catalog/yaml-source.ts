/**
 * One YAML file as plain JSON, with the place of every member, so that each problem can name line
 * and column. Reads text only; who reads the file is the loader.
 */

import type { Document, YAMLError } from 'yaml';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { JsonValue } from '../../../schemas/json.ts';
import { toError } from '../errors.ts';
import type { CatalogProblem, Violation } from './problem.ts';

/** `value` is undefined where the text could not be read; `problems` then says why. */
export type YamlSource = Readonly<{
  file: string;
  value: JsonValue | undefined;
  /** The same as far as it goes: for guessing what a broken file means to define. */
  draft: unknown;
  problems: readonly CatalogProblem[];
  /** The problem of a member, placed at its name, or at the nearest member above it. */
  problemAt(violation: Violation): CatalogProblem;
}>;

type Place = Readonly<{ line: number; column: number }>;

/** Reads `text`; `file` is what problems call it. */
export function readYaml(file: string, text: string): YamlSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problemAt = ({ path, reason, fix }: Violation): CatalogProblem => {
    return { file, ...at(offsetOf(document, path)), reason, fix };
  };
  const problems: CatalogProblem[] = ownErrors(document).map((error) => {
    const fix = 'Correct the YAML there.';
    return { file, ...at(error.pos[0]), reason: `This is not valid YAML: ${error.message}`, fix };
  });
  const { draft, failure } = draftOf(document);
  const read = failure ?? asJson(draft, []);
  if ('value' in read && problems.length === 0) {
    return { file, value: read.value, draft, problems, problemAt };
  }
  if (!('value' in read) && problems.length === 0) problems.push(problemAt(read));
  return { file, value: undefined, draft, problems, problemAt };
}

/** The parser trips over the rest of the file after a first mistake; only names that repeat stand alone. */
function ownErrors({ errors, warnings }: Document): readonly YAMLError[] {
  const all = [...errors, ...warnings];
  const first = all.find(({ code }) => code !== 'DUPLICATE_KEY');
  return all.filter((error) => error === first || error.code === 'DUPLICATE_KEY');
}

function draftOf(document: Document): { draft?: unknown; failure?: Violation } {
  try {
    return { draft: document.toJS({ maxAliasCount: 100 }) };
  } catch (thrown) {
    const reason = `The file cannot be read: ${toError(thrown).message}.`;
    const fix = 'Write the values out instead of using aliases.';
    return { failure: { path: [], reason, fix } };
  }
}

/** YAML knows values that JSON does not; they would turn into something else in the log. */
function asJson(
  value: unknown,
  path: readonly (string | number)[],
): { value: JsonValue } | Violation {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return { value };
  if (typeof value === 'number' && Number.isFinite(value)) return { value };
  if (Array.isArray(value))
    return members(value.entries(), path, (pairs) => pairs.map(([, item]) => item));
  if (typeof value === 'object') return members(Object.entries(value), path, Object.fromEntries);
  const reason = 'This value cannot stand in JSON.';
  return { path, reason, fix: 'Use text, a number, true, false, null, a list or an object.' };
}

type Pairs = [string | number, JsonValue][];

function members(
  entries: Iterable<[string | number, unknown]>,
  path: readonly (string | number)[],
  build: (pairs: Pairs) => JsonValue,
): { value: JsonValue } | Violation {
  const pairs: Pairs = [];
  for (const [name, member] of entries) {
    const read = asJson(member, [...path, name]);
    if (!('value' in read)) return read;
    pairs.push([name, read.value]);
  }
  return { value: build(pairs) };
}

/** Where the member at `path` begins: at its name in an object, at the item in a list. */
function offsetOf(document: Document, path: readonly (string | number)[]): number {
  let node: unknown = document.contents;
  let offset = startOf(node, 0);
  for (const member of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(
        ({ key }) => String(isScalar(key) ? key.value : key) === `${member}`,
      );
      if (pair === undefined) return offset;
      offset = startOf(pair.key, offset);
      node = pair.value;
    } else if (isSeq(node) && typeof member === 'number' && node.items[member] !== undefined) {
      node = node.items[member];
      offset = startOf(node, offset);
    } else return offset;
  }
  return offset;
}

function startOf(node: unknown, otherwise: number): number {
  return isNode(node) && node.range ? node.range[0] : otherwise;
}
