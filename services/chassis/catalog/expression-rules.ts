/**
 * Expressions of a definition are compiled when it is loaded, so that a mistake is not found by a
 * session.
 */

import type { JsonValue } from '../../../schemas/json.ts';
import { LongreinError } from '../errors.ts';
import { compileExpression } from '../expressions/jsonata.ts';
import { expressionsOf, memberWhere } from '../expressions/template.ts';
import type { Violation } from './problem.ts';

/** The invalid expressions of the template that stands at `path` of its definition. */
export function expressionViolations(
  template: JsonValue,
  path: readonly (string | number)[],
): Violation[] {
  return [...expressionsOf(template, whereOf(path), path)].flatMap((found) =>
    sourceViolations(found.source, found.path),
  );
}

/** The same for a member that is an expression itself, without the `=`. */
export function sourceViolations(source: string, path: readonly (string | number)[]): Violation[] {
  try {
    compileExpression(source, whereOf(path));
    return [];
  } catch (thrown) {
    if (!(thrown instanceof LongreinError)) throw thrown;
    const reason = `${thrown.message.charAt(0).toUpperCase()}${thrown.message.slice(1)}.`;
    return [{ path, reason, fix: thrown.fix ?? 'Correct the expression.' }];
  }
}

function whereOf(path: readonly (string | number)[]): string {
  return path.reduce<string>(memberWhere, '');
}
