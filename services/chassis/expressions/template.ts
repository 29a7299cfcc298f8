/**
 * Templates of plans and agents: JSON values in which a text that starts with `=` is a JSONata
 * expression. Pure: the same template over the same data gives the same bytes. Compiled expressions
 * are kept by place and source, because the same plan is read again for every session.
 */

import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { compileExpression, type Expression } from './jsonata.ts';

/** A template whose expressions are known to be valid. */
export type CompiledTemplate = Readonly<{
  /**
   * The template with every expression replaced by its value; one that selects nothing gives null.
   * Throws LongreinError EXPRESSION_FAILED or EXPRESSION_LIMIT, naming the member.
   */
  evaluate(data: JsonObject): JsonValue;
}>;

/**
 * One expression inside a template. `path` leads from the template to it; `where` is what errors
 * call it.
 */
export type TemplateExpression = Readonly<{
  path: readonly (string | number)[];
  where: string;
  source: string;
}>;

type Evaluator = (data: JsonObject) => JsonValue;

const compiledMax = 1000;
const compiled = new Map<string, Expression>();

/**
 * Compiles `template`; `where` names its place, such as `steps[2].arguments`. Members add to it.
 * Throws LongreinError EXPRESSION_INVALID at the first expression that is not valid.
 */
export function compileTemplate(template: JsonValue, where: string): CompiledTemplate {
  return { evaluate: evaluatorOf(template, where) };
}

/**
 * All expressions of `template` in its order, for checks that want every error and not the first.
 */
export function* expressionsOf(
  template: JsonValue,
  where: string,
  path: readonly (string | number)[] = [],
): Generator<TemplateExpression> {
  if (typeof template === 'string') {
    if (isExpression(template)) yield { path, where, source: template.slice(1) };
  } else if (isList(template)) {
    for (const [index, item] of template.entries()) {
      yield* expressionsOf(item, memberWhere(where, index), [...path, index]);
    }
  } else if (typeof template === 'object' && template !== null) {
    for (const [name, member] of Object.entries(template)) {
      yield* expressionsOf(member, memberWhere(where, name), [...path, name]);
    }
  }
}

/** `where` with one member added: `tasks[2]`, `tasks[2].input`, `input["two words"]`. */
export function memberWhere(where: string, member: string | number): string {
  if (typeof member === 'number') return `${where}[${member}]`;
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(member)) return `${where}[${JSON.stringify(member)}]`;
  return where === '' ? member : `${where}.${member}`;
}

function evaluatorOf(template: JsonValue, where: string): Evaluator {
  if (typeof template === 'string') return textEvaluator(template, where);
  if (isList(template)) {
    const items = template.map((item, index) => evaluatorOf(item, memberWhere(where, index)));
    return (data) => items.map((item) => item(data));
  }
  if (typeof template !== 'object' || template === null) return () => template;
  const members = Object.entries(template).map(
    ([name, member]) => [name, evaluatorOf(member, memberWhere(where, name))] as const,
  );
  return (data) => Object.fromEntries(members.map(([name, member]) => [name, member(data)]));
}

function textEvaluator(text: string, where: string): Evaluator {
  if (isExpression(text)) return keptExpression(text.slice(1), where).evaluate;
  const literal = text.startsWith('==') ? text.slice(1) : text;
  return () => literal;
}

function isExpression(text: string): boolean {
  return text.startsWith('=') && !text.startsWith('==');
}

/** Array.isArray does not narrow readonly arrays. */
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function keptExpression(source: string, where: string): Expression {
  const key = `${where}\n${source}`;
  const kept = compiled.get(key);
  if (kept !== undefined) return kept;
  const expression = compileExpression(source, where);
  const oldest = compiled.keys().next();
  if (compiled.size >= compiledMax && !oldest.done) compiled.delete(oldest.value);
  compiled.set(key, expression);
  return expression;
}
