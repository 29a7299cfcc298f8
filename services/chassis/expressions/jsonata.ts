/**
 * JSONata for files that people write (agents, plans, scripted answers), made safe for pure
 * decisions: the result is plain JSON and depends on the expression and the data alone. No clock,
 * random, eval or outside code; steps, depth and sizes are limited by counting. Data is never
 * changed, so frozen data may be passed.
 */

import jsonata from 'jsonata';
import type { JsonValue } from '../../../schemas/json.ts';
import { LongreinError } from '../errors.ts';
import { type Budget, createBudget, type ExpressionLimits, expressionLimits } from './budget.ts';
import { bindBuiltIns } from './built-ins.ts';
import { toPlainJson } from './plain-json.ts';
import { inspectSyntax, type Syntax } from './syntax.ts';

export { type ExpressionLimits, expressionLimits } from './budget.ts';

/** A compiled expression. */
export type Expression = Readonly<{
  source: string;
  /**
   * The value for `data`; an expression that selects nothing gives null.
   * Throws LongreinError EXPRESSION_FAILED (wrong types, $error) or EXPRESSION_LIMIT.
   */
  evaluate(data: JsonValue): JsonValue;
}>;

type Parsed = Readonly<{ expression: jsonata.Expression; syntax: Syntax }>;

const sourceCharactersMax = 65_536;
const resultDepthMax = 200;

/**
 * Compiles `source`. `where` names the place for error texts, such as "agents/auditor.yaml,
 * answer". Throws LongreinError EXPRESSION_INVALID with line and column.
 */
export function compileExpression(
  source: string,
  where: string,
  limits: ExpressionLimits = expressionLimits,
): Expression {
  const parsed = parse(source, where);
  return {
    source,
    evaluate(data) {
      const budget = createBudget(parsed.syntax, limits, where);
      try {
        return run(parsed, data, budget, where);
      } catch (thrown) {
        throw evaluationError(thrown, where);
      }
    },
  };
}

function parse(source: string, where: string): Parsed {
  if (source.length > sourceCharactersMax) {
    const reason = `it is longer than ${sourceCharactersMax} characters`;
    throw invalid(where, { reason, at: '', fix: 'Split it, or pass the text as data.' });
  }
  try {
    const expression = jsonata(source);
    const syntax = inspectSyntax(expression.ast());
    if (!('reason' in syntax)) return { expression, syntax };
    throw invalid(where, { ...syntax, at: place(source, syntax.position) });
  } catch (thrown) {
    if (thrown instanceof LongreinError) throw thrown;
    const { message, position } = describe(thrown);
    const fix = 'Correct the expression at that place.';
    throw invalid(where, { reason: message, at: place(source, position), fix });
  }
}

function run(parsed: Parsed, data: JsonValue, budget: Budget, where: string): JsonValue {
  const input: unknown = parsed.syntax.writes ? JSON.parse(JSON.stringify(data)) : data;
  const bindings = bindBuiltIns(budget.charge, parsed.syntax.variables);
  bindings.__evaluate_entry = budget.enter;
  bindings.__evaluate_exit = budget.leave;
  const result: unknown = parsed.expression.evaluate(input, bindings);
  const refuse = (what: string): never => {
    throw new LongreinError('EXPRESSION_FAILED', `expression in ${where} failed: it gave ${what}`, {
      fix: 'Let the expression give text, numbers, booleans, null, arrays or objects.',
    });
  };
  return toPlainJson(result, { charge: budget.charge, refuse, depthMax: resultDepthMax });
}

function invalid(where: string, what: { reason: string; at: string; fix: string }): LongreinError {
  const text = `expression in ${where} is not valid${what.at}: ${what.reason}`;
  return new LongreinError('EXPRESSION_INVALID', text, { fix: what.fix });
}

/** A fresh error: the evaluator writes its own fields into whatever passes through it. */
function evaluationError(thrown: unknown, where: string): LongreinError {
  if (thrown instanceof LongreinError) {
    return new LongreinError(thrown.code, thrown.message, fixOf(thrown));
  }
  if (thrown instanceof RangeError) {
    const text = `expression in ${where} was stopped: its values grew too large`;
    return new LongreinError('EXPRESSION_LIMIT', text, { fix: 'Select less of the data.' });
  }
  // The evaluator throws plain objects; an Error is the host's own, with words that change by
  // version.
  const said = thrown instanceof Error ? {} : thrown;
  const { message, position } = describe(said);
  const at = position === undefined ? '' : ` at character ${position}`;
  return new LongreinError('EXPRESSION_FAILED', `expression in ${where} failed${at}: ${message}`, {
    fix: 'Check the types of the values there; $exists and $type help to test for them.',
  });
}

function fixOf(error: LongreinError): { fix?: string } {
  return error.fix === undefined ? {} : { fix: error.fix };
}

/**
 * What the evaluator threw: plain objects with code, message and position. Values are left out:
 * they are data.
 */
function describe(thrown: unknown): { message: string; position: number | undefined } {
  const fields = Object(thrown);
  const { message, position, value, code } = {
    message: Reflect.get(fields, 'message'),
    position: Reflect.get(fields, 'position'),
    value: Reflect.get(fields, 'value'),
    code: Reflect.get(fields, 'code'),
  };
  const text = typeof message === 'string' ? message : 'the evaluator refused it';
  const ownText = /^(?:D3137|D3141|T04\d\d)$/.test(String(code)) || value === undefined;
  return {
    message: (ownText ? text : withoutValue(text, value)).slice(0, 500),
    position: typeof position === 'number' ? position : undefined,
  };
}

function withoutValue(text: string, value: unknown): string {
  const shown = typeof value === 'object' ? '' : JSON.stringify(value);
  return shown ? text.replaceAll(shown, '(value)') : text.replace(/[[{].*$/s, '(value)');
}

function place(source: string, position: number | undefined): string {
  if (position === undefined) return '';
  const before = source.slice(0, position).split('\n');
  return ` at line ${before.length}, column ${Math.max(1, before.at(-1)?.length ?? 1)}`;
}
