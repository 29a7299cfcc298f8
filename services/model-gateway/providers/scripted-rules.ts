/** The rules of the scripted provider, as they stand in its file. */

import { z } from 'zod';
import type { JsonValue } from '../../../schemas/json.ts';
import { compileExpression, type Expression } from '../../chassis/expressions/jsonata.ts';
import { parseYaml, readYamlFile, type YamlShape } from '../yaml-file.ts';

const failureShape = z.strictObject({
  class: z.enum([
    ...(['rate-limited', 'overloaded', 'timeout', 'cancelled', 'unavailable'] as const),
    ...(['authentication', 'invalid-request', 'context-too-long', 'content-filter'] as const),
    'provider-error',
  ]),
  code: z.string().min(1).optional(),
  message: z.string().min(1).optional(),
  retryable: z.boolean().optional(),
  retryAfterMs: z.int().min(0).optional(),
  fix: z.string().min(1).optional(),
});

/** What `answer` has to give, beside plain text. */
export const answerShape = z.strictObject({
  text: z.string().optional(),
  toolCalls: z
    .array(z.strictObject({ name: z.string().min(1), arguments: z.json().default({}) }))
    .optional(),
});

const ruleShape = z
  .strictObject({
    model: z.string().min(1),
    when: z.string().min(1).optional(),
    answer: z.union([z.string(), answerShape]).optional(),
    outputTokens: z.int().min(0).optional(),
    failure: failureShape.optional(),
    delayMs: z.int().min(0).max(600_000).optional(),
  })
  .refine((rule) => (rule.answer === undefined) !== (rule.failure === undefined), {
    message: 'a rule has either an answer or a failure',
  });

type Rule = z.infer<typeof ruleShape>;

const rulesShape: YamlShape<Rule[]> = {
  code: 'SCRIPTED_RULES_INVALID',
  schema: z.array(ruleShape),
  fix: 'Write a list of rules: model, when, and answer (a JSONata expression) or failure.',
};

/** One rule, ready to use. `when` and `answer` are given {messages, input, tools, step}. */
export type ScriptedRule = Readonly<{
  place: string;
  model: string;
  when: Expression | undefined;
  answer: ((data: JsonValue) => JsonValue) | undefined;
  outputTokens: number | undefined;
  failure: z.infer<typeof failureShape> | undefined;
  delayMs: number;
}>;

/**
 * The rules in the file at `path`. Throws LongreinError SCRIPTED_RULES_INVALID or
 * EXPRESSION_INVALID.
 */
export function readScriptedRules(path: string): ScriptedRule[] {
  return readYamlFile(path, rulesShape).map((rule, at) => compileRule(rule, path, at));
}

/** The rules in `text`, which came from `path`. Throws like readScriptedRules. */
export function parseScriptedRules(text: string, path: string): ScriptedRule[] {
  return parseYaml(text, path, rulesShape).map((rule, at) => compileRule(rule, path, at));
}

function compileRule(rule: Rule, path: string, at: number): ScriptedRule {
  const place = `${path}, rule ${at + 1}`;
  return {
    place,
    model: rule.model,
    when: rule.when === undefined ? undefined : compileExpression(rule.when, `${place}, when`),
    answer: compileAnswer(rule.answer, place),
    outputTokens: rule.outputTokens,
    failure: rule.failure,
    delayMs: rule.delayMs ?? 0,
  };
}

function compileAnswer(answer: Rule['answer'], place: string): ScriptedRule['answer'] {
  if (answer === undefined) return undefined;
  if (typeof answer === 'string') return compileExpression(answer, `${place}, answer`).evaluate;
  const literal: JsonValue = JSON.parse(JSON.stringify(answer));
  return () => literal;
}
