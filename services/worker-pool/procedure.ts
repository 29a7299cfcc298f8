/**
 * An agent of kind `procedure`: declared tool calls, one after another. Goes on from what the state
 * says was asked for last; steps that were passed over leave no event, their results are null.
 */

import type { Embedding, ProcedureAgent, ProcedureStep } from '../../schemas/definitions/agent.ts';
import { json } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { backOffMs } from '../chassis/effects/back-off.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import { expressionFailure } from './failures.ts';
import { failed, type Move, type Scope } from './move.ts';
import { finalFailure } from './resume.ts';
import type { AgentEntry, ToolCallEntry } from './state.ts';

/** Results by step id; null for steps that gave none. */
function resultsOf(definition: ProcedureAgent, tools: readonly ToolCallEntry[]): JsonObject {
  const results = new Map<string, JsonValue>(definition.steps.map(({ id }) => [id, null]));
  for (const { step, result } of tools) {
    const id = definition.steps[step - 1]?.id;
    if (id !== undefined) results.set(id, result ?? null);
  }
  return Object.fromEntries(results);
}

function brokenStep(definition: ProcedureAgent, tools: readonly ToolCallEntry[]): Move | undefined {
  for (const [index, call] of tools.entries()) {
    // One that was made again says nothing any more.
    if (call.failure === undefined || tools[index + 1]?.step === call.step) continue;
    const { step, tool } = call;
    const failure = finalFailure(call, call.failure);
    const id = definition.steps[step - 1]?.id ?? String(step);
    return failed({ ...failure, message: `Step "${id}" (${tool}): ${failure.message}` });
  }
  return undefined;
}

/** Whether the step is to be made; `when` is an expression without the leading `=` of templates. */
function isWanted(step: ProcedureStep, data: JsonObject, where: string): boolean {
  if (step.when === undefined) return true;
  return compileTemplate(`=${step.when}`, `${where}.when`).evaluate(data) === true;
}

function nextStep(definition: ProcedureAgent, data: JsonObject, done: number): Move | undefined {
  for (const [index, step] of definition.steps.entries()) {
    const where = `agent ${definition.name}, steps[${index}]`;
    if (index < done || !isWanted(step, data, where)) continue;
    const given = compileTemplate(step.arguments, `${where}.arguments`).evaluate(data);
    if (step.embed !== undefined) return embedMove(step.embed, given, { step: index + 1, where });
    const request = { step: index + 1, tool: step.tool, arguments: given };
    return { kind: 'call-tools', requests: [request] };
  }
  return undefined;
}

const textsMax = 512;

/** The request for vectors; a failure where the expression gave anything but texts. */
function embedMove(
  embedding: Embedding,
  given: JsonValue,
  at: { step: number; where: string },
): Move {
  const texts: unknown = Object(given).texts;
  const list: readonly unknown[] = Array.isArray(texts) ? texts : [texts];
  const said = list.filter((one): one is string => typeof one === 'string' && one !== '');
  if (said.length > 0 && said.length === list.length && said.length <= textsMax)
    return { kind: 'embed', step: at.step, texts: said, embedding };
  const message =
    `The texts of ${at.where} are not a list of 1 to ${textsMax} texts that are not empty. ` +
    'Correct the expression, or pass the step over with "when" where there is nothing to embed.';
  return failed({
    code: 'EMBED_TEXTS_INVALID',
    class: 'invalid-arguments',
    retryable: false,
    message,
  });
}

/** Whether the newest call was one for vectors that may be made again, and whether it is time; undefined where not. */
function repeatOf(
  { steps }: ProcedureAgent,
  { tools, model }: AgentEntry,
): Move | 'now' | undefined {
  const last = tools.at(-1);
  const most = steps[(last?.step ?? 0) - 1]?.embed?.attemptsMax ?? 1;
  if (last?.failure?.retryable !== true || last.again === undefined) return undefined;
  const tries = tools.filter(({ step }) => step === last.step).length;
  if (tries >= most) return undefined;
  if (model.retry?.fired === true) return 'now';
  const { address, retryAfterMs } = last.again;
  return { kind: 'wait', delayMs: backOffMs(tries, address, retryAfterMs) };
}

/** What the agent does next. Only to be asked while no call of it is open. */
export function procedureMove(definition: ProcedureAgent, entry: AgentEntry, scope: Scope): Move {
  const again = repeatOf(definition, entry);
  if (typeof again === 'object') return again;
  const broken = again === 'now' ? undefined : brokenStep(definition, entry.tools);
  if (broken !== undefined) return broken;
  const data = { ...scope, steps: resultsOf(definition, entry.tools) };
  const last = entry.tools.at(-1)?.step ?? 0;
  const done = again === 'now' ? last - 1 : last;
  try {
    const next = nextStep(definition, data, done);
    if (next !== undefined) return next;
    const output = compileTemplate(definition.output, `agent ${definition.name}, output`);
    return { kind: 'complete', output: json(output.evaluate(data)) };
  } catch (thrown) {
    return failed(expressionFailure(thrown));
  }
}
