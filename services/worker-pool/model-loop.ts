/**
 * An agent of kind `model`: asks, makes the calls that the answer wants, tells the results, asks
 * again. A call that failed or was denied is told to the model, which may find another way; one
 * that nobody saw end stops the agent. What was answered is never asked for again: after a failed
 * model call only that call is made anew.
 */

import type { ModelAgent } from '../../schemas/definitions/agent.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { handoff } from '../chassis/catalog/delegation-tools.ts';
import type { ModelAnswer, ModelToolCall, NewMessage } from '../chassis/context/messages.ts';
import { backOffMs } from '../chassis/effects/back-off.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import { attachedFiles } from './attached-files.ts';
import { expressionFailure } from './failures.ts';
import { limitReached, stopped } from './model-limits.ts';
import { failed, type ModelRequest, type Move, type Scope } from './move.ts';
import { complaintOf, type Output, outputRules, readOutput } from './output.ts';
import { moreBudget } from './questions.ts';
import { noteOf, stepsBefore } from './recovery.ts';
import { finalFailure } from './resume.ts';
import type { AgentEntry, Failure, ModelFailure, ToolCallEntry } from './state.ts';
import { withinWindow } from './window-move.ts';

/** More calls in one answer are a model that went wrong, not a plan. */
const callsPerAnswerMax = 64;

function systemText(definition: ModelAgent): string {
  const { system, goal } = definition;
  const parts = [system, goal === undefined ? '' : `Your goal: ${goal}`, outputRules(definition)];
  return parts.filter((part) => part !== '').join('\n\n');
}

function firstMessages(definition: ModelAgent, scope: Scope): NewMessage[] {
  const prompt = compileTemplate(definition.prompt, `agent ${definition.name}, prompt`);
  const asked = prompt.evaluate(scope);
  const user = typeof asked === 'string' ? asked : canonical(asked);
  const files = attachedFiles(definition, scope);
  const first: NewMessage = { role: 'user', text: user, ...(files.length === 0 ? {} : { files }) };
  const system = systemText(definition);
  return system === '' ? [first] : [{ role: 'system', text: system }, first];
}

/** What an agent says first that goes on with the conversation of another: providers want the system text at the top only. */
function takeOverMessages(callId: string) {
  return (definition: ModelAgent, scope: Scope): NewMessage[] => {
    const [last, ...others] = firstMessages(definition, scope).reverse();
    const files = last !== undefined && 'files' in last ? { files: last.files } : {};
    const texts = [...others, last].flatMap((one) =>
      one !== undefined && 'text' in one ? one.text : [],
    );
    const from = `From here on another agent goes on with this conversation: you are "${definition.name}".`;
    const result = { handedOnTo: definition.name };
    return [
      { role: 'tool', toolCallId: callId, toolName: handoff, result, isError: false },
      { role: 'user', text: [from, ...texts].join('\n\n'), ...files },
    ];
  };
}

function toolMessage(asked: ModelToolCall, made: ToolCallEntry | undefined): NewMessage {
  const failure = made?.failure;
  const told: JsonValue =
    failure === undefined
      ? (made?.result ?? null)
      : { error: failure.code, message: failure.message };
  return {
    role: 'tool',
    toolCallId: asked.id,
    toolName: asked.name,
    result: told,
    isError: failure !== undefined,
  };
}

function limit(code: string, kind: Failure['class'], message: string): Move {
  return failed({ code, class: kind, retryable: false, message });
}

/** What the model was not told yet, and why it is asked again where an attempt before failed. */
function newMessages(definition: ModelAgent, entry: AgentEntry, scope: Scope): NewMessage[] {
  const note = noteOf(entry);
  if (note === undefined) return saidMessages(definition, entry, scope);
  const isTold = entry.model.answer?.toolCalls.length === 0;
  const said = isTold ? [] : saidMessages(definition, entry, scope);
  return [...said, { role: 'user', text: note }];
}

/** The results of its calls, or what is wrong with its output. */
function saidMessages(definition: ModelAgent, entry: AgentEntry, scope: Scope): NewMessage[] {
  const { answer } = entry.model;
  if (answer === undefined) {
    const { handed } = entry;
    const first = handed === undefined ? firstMessages : takeOverMessages(handed.callId);
    return first(definition, scope);
  }
  if (answer.toolCalls.length > 0)
    return answer.toolCalls.map((asked, index) => toolMessage(asked, entry.tools[index]));
  const read = readOutput(definition, answer.text);
  return [{ role: 'user', text: complaintOf('output' in read ? 'is not done' : read.problem) }];
}

/** The next model in the list of those that take over; undefined where there is none, or none would help. */
function fallbackOf(definition: ModelAgent, entry: AgentEntry, failure: ModelFailure) {
  const next = (entry.fallback ?? 0) + 1;
  const others = definition.onError?.models ?? [];
  return failure.class === 'cancelled' || next > others.length ? undefined : next;
}

/** What a failed model call leads to; `again` asks anew, of the model at this place. */
function afterFailure(
  definition: ModelAgent,
  entry: AgentEntry,
  failure: ModelFailure,
): Move | Readonly<{ again: number | undefined }> {
  const { tries, retry } = entry.model;
  if (failure.pardoned === true) return { again: entry.fallback };
  if (!failure.retryable || tries >= definition.modelAttemptsMax) {
    const again = fallbackOf(definition, entry, failure);
    if (again !== undefined) return { again };
    const { code, class: kind, retryable, message } = failure;
    const given = { code, class: kind, retryable, message };
    return moreBudget(definition, entry, given) ?? failed(given);
  }
  if (retry?.fired === true) return { again: entry.fallback };
  const delayMs = backOffMs(tries, failure.address, failure.retryAfterMs);
  return { kind: 'wait', delayMs };
}

function stepsSpent(definition: ModelAgent, entry: AgentEntry): Move {
  const { name, stepsMax } = definition;
  const message =
    `Agent "${name}" wants more tool calls after ${stepsMax} answers, which is its limit. ` +
    'Raise stepsMax, or give it a smaller task.';
  return stopped(definition, entry, { code: 'STEP_LIMIT', class: 'step-limit', message });
}

function callTools(
  definition: ModelAgent,
  entry: AgentEntry,
  wanted: readonly ModelToolCall[],
): Move {
  const { steps } = entry.usage;
  // Not after the calls: nobody would read what they give.
  const before = Math.max(stepsBefore(entry), entry.handed?.steps ?? 0);
  if (steps - before >= definition.stepsMax) return stepsSpent(definition, entry);
  if (wanted.length > callsPerAnswerMax) {
    const message =
      `The model asked for ${wanted.length} tool calls at once; ` +
      `the limit is ${callsPerAnswerMax}. Tell it in the prompt to ask for fewer.`;
    return limit('TOO_MANY_TOOL_CALLS', 'limit', message);
  }
  const requests = wanted.map((asked) => ({
    step: steps,
    // A name is checked by the guard, whose answer the model reads; here it only has to fit.
    tool: asked.name.slice(0, 128) || '(no name)',
    arguments: asked.arguments,
    modelCallId: asked.id.slice(0, 512),
  }));
  return { kind: 'call-tools', requests };
}

function wrongOutput(
  definition: ModelAgent,
  entry: AgentEntry,
  { code, problem }: Extract<Output, { code: string }>,
): Move {
  if (definition.form === undefined) {
    const message =
      `The last answer of agent "${definition.name}" is not JSON. ` +
      'Say in its system text what JSON to answer with, or set output to text.';
    return failed({ code, class: 'invalid-output', retryable: true, message });
  }
  const { repairs = 0 } = entry;
  const asked = repairs === 0 ? '' : `, also after ${repairs} more`;
  const message =
    `The last answer of agent "${definition.name}" ${problem}${asked}. ` +
    'Say in its system text what to answer with, raise repairsMax, or use a stronger model.';
  return stopped(definition, entry, { code, class: 'invalid-output', message });
}

function conclude(definition: ModelAgent, entry: AgentEntry, answer: ModelAnswer) {
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
  const read = readOutput(definition, answer.text);
  if ('output' in read) return { kind: 'complete', output: read.output } as const;
  const { repairs = 0 } = entry;
  if (definition.form !== undefined && repairs < (definition.repairsMax ?? 0))
    return { repair: repairs + 1 };
  return wrongOutput(definition, entry, read);
}

function unknownCall(tools: readonly ToolCallEntry[]): Move | undefined {
  const lost = tools.find(({ failure }) => failure?.class === 'unknown-outcome');
  return lost?.failure === undefined ? undefined : failed(lost.failure);
}

type Asked = Pick<ModelRequest, 'step' | 'repair' | 'fallback'>;

/** The request within the agent's context policy. */
function ask(definition: ModelAgent, entry: AgentEntry, scope: Scope, asked: Asked): Move {
  try {
    const messages = newMessages(definition, entry, scope);
    return withinWindow(definition, entry, { kind: 'ask-model', ...asked, messages });
  } catch (thrown) {
    return failed(expressionFailure(thrown));
  }
}

const withFallback = (fallback: number | undefined): Pick<Asked, 'fallback'> =>
  fallback === undefined ? {} : { fallback };

function refusedTool(definition: ModelAgent, tools: readonly ToolCallEntry[]): Move | undefined {
  if (definition.onError?.tools !== 'fail') return undefined;
  const broken = tools.find(({ failure }) => failure !== undefined);
  if (broken?.failure === undefined) return undefined;
  const { tool } = broken;
  const failure = finalFailure(broken, broken.failure);
  return failed({ ...failure, message: `Call of "${tool}": ${failure.message}` });
}

/** The limit that was reached; where it is one of costs, a person may be asked first. */
function stoppedBy(definition: ModelAgent, entry: AgentEntry): Move | undefined {
  const stop = limitReached(definition, entry);
  if (stop?.kind !== 'fail') return stop;
  return moreBudget(definition, entry, stop.failure) ?? stop;
}

/** Whether an answer that an attempt failed with leads nowhere else: the model has to be told. */
const isBarren = ({ toolCalls }: ModelAnswer): boolean =>
  toolCalls.length === 0 || toolCalls.length > callsPerAnswerMax;

/** What follows from the newest answer and what its calls gave. */
function afterAnswer(definition: ModelAgent, entry: AgentEntry, scope: Scope): Move {
  const { usage, tools, fallback } = entry;
  const next = { step: usage.steps + 1, ...withFallback(fallback) };
  const answer = entry.model.answer as ModelAnswer;
  if (noteOf(entry) !== undefined && isBarren(answer))
    return stoppedBy(definition, entry) ?? ask(definition, entry, scope, next);
  if (answer.toolCalls.length === 0) {
    const end = conclude(definition, entry, answer);
    if (!('repair' in end)) return end;
    return stoppedBy(definition, entry) ?? ask(definition, entry, scope, { ...next, ...end });
  }
  const isDue = (_: unknown, index: number): boolean => !tools[index]?.call;
  const due = answer.toolCalls.filter(isDue);
  if (due.length > 0) return callTools(definition, entry, due);
  return (
    unknownCall(tools) ??
    refusedTool(definition, tools) ??
    stoppedBy(definition, entry) ??
    ask(definition, entry, scope, next)
  );
}

/** What the agent does next. Only to be asked while no call of it is open. */
export function modelMove(definition: ModelAgent, entry: AgentEntry, scope: Scope): Move {
  const { usage, model } = entry;
  if (model.failure !== undefined) {
    const next = afterFailure(definition, entry, model.failure);
    if ('kind' in next) return next;
    return ask(definition, entry, scope, { step: usage.steps, ...withFallback(next.again) });
  }
  if (model.answer === undefined)
    return ask(definition, entry, scope, { step: (entry.handed?.steps ?? 0) + 1 });
  return afterAnswer(definition, entry, scope);
}
