/** Reads a YAML file of a given shape; an error names the file, the line and the field. */

import { readFileSync } from 'node:fs';
import { type Document, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { LongreinError, toError } from '../chassis/errors.ts';

/** What to expect of a file. `code` is the code of every error about it. */
export type YamlShape<T> = Readonly<{ code: string; schema: z.ZodType<T>; fix: string }>;

/** The content of the file at `path`. Throws LongreinError with the code of `shape`. */
export function readYamlFile<T>(path: string, shape: YamlShape<T>): T {
  return parseYaml(readText(path, shape), path, shape);
}

/** The content of `text`, which came from `path`. Throws LongreinError with the code of `shape`. */
export function parseYaml<T>(text: string, path: string, shape: YamlShape<T>): T {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    const summary = mistake.message.split('\n')[0] ?? '';
    throw new LongreinError(shape.code, `${path}: ${summary}`, { fix: shape.fix });
  }
  const parsed = shape.schema.safeParse(document.toJS());
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = placeOf(issue);
  const field = place.map(String);
  const line = lineOf(document, place, lines);
  const named = field.length === 0 ? '' : ` ${field.join('.')}:`;
  const complaint = `${path}:${line}:${named} ${issue?.message ?? 'not as expected'}`;
  throw new LongreinError(shape.code, complaint, { fix: shape.fix });
}

/** A member that nobody knows is itself the place, not what it stands in. */
function placeOf(issue: z.core.$ZodIssue | undefined): readonly PropertyKey[] {
  if (issue === undefined) return [];
  return issue.code === 'unrecognized_keys'
    ? [...issue.path, ...issue.keys.slice(0, 1)]
    : issue.path;
}

function readText<T>(path: string, shape: YamlShape<T>): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    const message = `${path} cannot be read: ${toError(thrown).message}`;
    throw new LongreinError(shape.code, message, { fix: 'Check the path.', cause: thrown });
  }
}

/** The line of the innermost node on `path` that exists. */
function lineOf(document: Document, path: readonly PropertyKey[], lines: LineCounter): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = nodeAt(document, path.slice(0, length));
    const range: unknown = typeof node === 'object' && node ? Reflect.get(node, 'range') : null;
    if (Array.isArray(range)) return lines.linePos(Number(range[0])).line;
  }
  return 1;
}

/** The name of a member where there is one, so that the line is that of its name. */
function nodeAt(document: Document, path: readonly PropertyKey[]): unknown {
  const parent: unknown = document.getIn(path.slice(0, -1), true);
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => String(isScalar(key) ? key.value : key) === path.at(-1))
    : undefined;
  return pair?.key ?? document.getIn(path, true);
}
