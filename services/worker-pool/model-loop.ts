/**
 * An agent of kind `model`: asks, makes the calls that the answer wants, tells the results, asks
 * again. A call that failed or was denied is told to the model, which may find another way; one
 * that nobody saw end stops the agent. What was answered is never asked for again: after a failed
 * model call only that call is made anew.
 */

import type { ModelAgent } from '../../schemas/definitions/agent.ts';
import { json, text } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { backOffMs } from '../chassis/effects/back-off.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import { expressionFailure } from './failures.ts';
import type { ModelAnswer, ModelToolCall, NewMessage } from './messages.ts';
import { failed, type Move, type Scope } from './move.ts';
import type { AgentEntry, Failure, ModelFailure, ToolCallEntry } from './state.ts';

/** More calls in one answer are a model that went wrong, not a plan. */
const callsPerAnswerMax = 64;

function firstMessages(definition: ModelAgent, scope: Scope): NewMessage[] {
  const prompt = compileTemplate(definition.prompt, `agent ${definition.name}, prompt`);
  const asked = prompt.evaluate(scope);
  const user = typeof asked === 'string' ? asked : canonical(asked);
  const first: NewMessage = { role: 'user', text: user };
  return definition.system === '' ? [first] : [{ role: 'system', text: definition.system }, first];
}

function toolMessage(asked: ModelToolCall, made: ToolCallEntry | undefined): NewMessage {
  const failure = made?.failure;
  const told: JsonValue =
    failure === undefined
      ? (made?.result ?? null)
      : { error: failure.code, message: failure.message };
  const head = { role: 'tool', toolCallId: asked.id, toolName: asked.name } as const;
  return { ...head, result: told, isError: failure !== undefined };
}

/** What the model was not told yet. */
function newMessages(definition: ModelAgent, entry: AgentEntry, scope: Scope): NewMessage[] {
  const { answer } = entry.model;
  if (answer === undefined) return firstMessages(definition, scope);
  return answer.toolCalls.map((asked, index) => toolMessage(asked, entry.tools[index]));
}

function limit(code: string, kind: Failure['class'], message: string): Move {
  return failed({ code, class: kind, retryable: false, message });
}

function afterFailure(definition: ModelAgent, entry: AgentEntry, failure: ModelFailure) {
  const { tries, retry } = entry.model;
  if (!failure.retryable || tries >= definition.modelAttemptsMax) {
    const { code, class: kind, retryable, message } = failure;
    return failed({ code, class: kind, retryable, message });
  }
  if (retry?.fired === true) return undefined;
  const delayMs = backOffMs(tries, failure.address, failure.retryAfterMs);
  return { kind: 'wait', delayMs } as const;
}

function stepsSpent({ name, stepsMax }: ModelAgent): Move {
  const message =
    `Agent "${name}" wants more tool calls after ${stepsMax} answers, which is its limit. ` +
    'Raise stepsMax, or give it a smaller task.';
  return limit('STEP_LIMIT', 'step-limit', message);
}

function callTools(definition: ModelAgent, entry: AgentEntry, answer: ModelAnswer): Move {
  const { steps } = entry.usage;
  // Not after the calls: nobody would read what they give.
  if (steps >= definition.stepsMax) return stepsSpent(definition);
  if (answer.toolCalls.length > callsPerAnswerMax) {
    const message =
      `The model asked for ${answer.toolCalls.length} tool calls at once; ` +
      `the limit is ${callsPerAnswerMax}. Tell it in the prompt to ask for fewer.`;
    return limit('TOO_MANY_TOOL_CALLS', 'limit', message);
  }
  const requests = answer.toolCalls.map((asked) => ({
    step: steps,
    // A name is checked by the guard, whose answer the model reads; here it only has to fit.
    tool: asked.name.slice(0, 128) || '(no name)',
    arguments: asked.arguments,
    modelCallId: asked.id.slice(0, 512),
  }));
  return { kind: 'call-tools', requests };
}

const fenced = /^```[a-z]*\s*\n([\s\S]*?)\n?```$/i;

function parseOutput(definition: ModelAgent, said: string): Move {
  const body = said.trim();
  try {
    const value: JsonValue = JSON.parse(fenced.exec(body)?.[1] ?? body);
    return { kind: 'complete', output: json(value) };
  } catch {
    // The parser's own words differ from release to release of the runtime, and would break replay.
    const message =
      `The last answer of agent "${definition.name}" is not JSON. ` +
      'Say in its system text what JSON to answer with, or set output to text.';
    return failed({ code: 'OUTPUT_NOT_JSON', class: 'invalid-output', retryable: true, message });
  }
}

function conclude(definition: ModelAgent, entry: AgentEntry, answer: ModelAnswer): Move {
  const { finishReason } = entry.model;
  if (finishReason === 'content-filter') {
    const message = 'The provider held the answer back by its content filter.';
    return limit('ANSWER_FILTERED', 'content-filter', message);
  }
  if (finishReason === 'length') {
    const message =
      `The answer was cut at ${definition.outputTokensMax} tokens. ` +
      'Raise outputTokensMax, or ask for less.';
    return limit('ANSWER_CUT', 'limit', message);
  }
  if (definition.output === 'json') return parseOutput(definition, answer.text);
  return { kind: 'complete', output: text(answer.text) };
}

function unknownCall(tools: readonly ToolCallEntry[]): Move | undefined {
  const lost = tools.find(({ failure }) => failure?.class === 'unknown-outcome');
  return lost?.failure === undefined ? undefined : failed(lost.failure);
}

function ask(definition: ModelAgent, entry: AgentEntry, at: { step: number; scope: Scope }): Move {
  try {
    const messages = newMessages(definition, entry, at.scope);
    return { kind: 'ask-model', step: at.step, messages };
  } catch (thrown) {
    return failed(expressionFailure(thrown));
  }
}

/** What the agent does next. Only to be asked while no call of it is open. */
export function modelMove(definition: ModelAgent, entry: AgentEntry, scope: Scope): Move {
  const { usage, model, tools } = entry;
  if (model.failure !== undefined) {
    const held = afterFailure(definition, entry, model.failure);
    return held ?? ask(definition, entry, { step: usage.steps, scope });
  }
  const { answer } = model;
  if (answer === undefined) return ask(definition, entry, { step: 1, scope });
  if (answer.toolCalls.length === 0) return conclude(definition, entry, answer);
  if (tools.length === 0) return callTools(definition, entry, answer);
  return unknownCall(tools) ?? ask(definition, entry, { step: usage.steps + 1, scope });
}
