/**
 * A model that answers from a file, for tests and for the demo without a key. The same request gets
 * the same answer; tokens are the stated estimate of characters/4, and nothing costs anything.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { parseModelName } from '../model-name.ts';
import type {
  ModelFailed,
  ModelFailureClass,
  ModelOutcome,
  ModelProvider,
  ModelRequest,
  ModelToolCall,
  ModelUsage,
} from './port.ts';
import { answerShape, readScriptedRules, type ScriptedRule } from './scripted-rules.ts';
import { scriptedVector } from './scripted-vectors.ts';
import { createStop, stoppedFailure } from './stop.ts';
import { cutToTokens, estimateInputTokens, estimateTokens } from './token-estimate.ts';

/** Rules, the name of their file for error texts, and Unix time. */
export type ScriptedOptions = Readonly<{
  rules: readonly ScriptedRule[];
  file: string;
  nowMs(): number;
}>;

const name = 'scripted';
const free = { costNanoUsd: 0, known: true, priceVersion: 'scripted' } as const;
const retryableClasses = new Set<ModelFailureClass>([
  ...(['rate-limited', 'overloaded', 'timeout', 'unavailable', 'provider-error'] as const),
]);

/**
 * The provider `scripted` from `files`: the first rule that fits answers, in the order of the
 * files. Throws LongreinError if one is not valid.
 */
export function readScriptedProvider(files: readonly string[], nowMs: () => number): ModelProvider {
  const rules = files.flatMap(readScriptedRules);
  return createScriptedProvider({ rules, file: files.join(', '), nowMs });
}

/** The provider `scripted` over `rules`. */
export function createScriptedProvider(options: ScriptedOptions): ModelProvider {
  return { name, complete: (request) => complete(request, options), quote: () => free };
}

async function complete(request: ModelRequest, options: ScriptedOptions): Promise<ModelOutcome> {
  const stop = createStop(request, options.nowMs);
  try {
    stop.signal.throwIfAborted();
    if (request.texts !== undefined) return embedded(request, request.texts);
    const data = dataOf(request);
    const rule = options.rules.find((each) => matches(each, request.model, data));
    if (rule === undefined) return refused(noRule(request, options.file));
    const outcome =
      rule.failure === undefined
        ? answered(request, rule, rule.answer?.(data) ?? null)
        : scriptedFailure(rule.failure);
    await speak(outcome, { delayMs: rule.delayMs, onText: request.onText, signal: stop.signal });
    return outcome;
  } catch (thrown) {
    const reason = stop.reason();
    if (reason !== undefined) return { kind: 'failed', error: stoppedFailure(reason, name) };
    return refused(toError(thrown));
  } finally {
    stop.release();
  }
}

function embedded(request: ModelRequest, texts: readonly string[]): ModelOutcome {
  const inputTokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  const used = { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  return {
    kind: 'completed',
    message: { text: '', toolCalls: [], vectors: texts.map(scriptedVector) },
    finishReason: 'stop',
    usage: { inputTokens, ...used },
    cost: free,
    provider: name,
    model: parseModelName(request.model).model,
  };
}

/** Takes the time of the rule; who listens hears the answer word by word meanwhile. */
async function speak(
  outcome: ModelOutcome,
  at: { delayMs: number; onText: ModelRequest['onText'] | undefined; signal: AbortSignal },
): Promise<void> {
  const { delayMs, onText, signal } = at;
  const said = outcome.kind === 'completed' ? outcome.message.text : '';
  const pieces = onText === undefined ? [] : (said.match(/\s*\S+\s*$|\s*\S+/g) ?? []);
  const pauseMs = delayMs / Math.max(1, pieces.length);
  for (const piece of pieces.length === 0 ? [''] : pieces) {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    onText?.(piece);
  }
}

/** What expressions see. `step` counts the model's earlier answers in this conversation, from 0. */
function dataOf(request: ModelRequest): JsonObject {
  return {
    messages: request.messages,
    input: request.input ?? null,
    tools: request.tools,
    step: request.messages.filter((message) => message.role === 'assistant').length,
  };
}

function matches(rule: ScriptedRule, model: string, data: JsonValue): boolean {
  const isForModel = ['*', model, parseModelName(model).model].includes(rule.model);
  return isForModel && (rule.when === undefined || isTrue(rule.when.evaluate(data)));
}

/** True as in JSONata: nothing empty, and for an array any true item. */
function isTrue(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(isTrue);
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function answered(request: ModelRequest, rule: ScriptedRule, value: JsonValue): ModelOutcome {
  const parsed = answerShape.safeParse(typeof value === 'string' ? { text: value } : value);
  if (!parsed.success) return refused(wrongAnswer(rule));
  const toolCalls = (parsed.data.toolCalls ?? []).map(
    (call, at): ModelToolCall => ({ id: callIdOf(request, at), ...call }),
  );
  const whole = parsed.data.text ?? '';
  const calls = toolCalls.length === 0 ? '' : JSON.stringify(toolCalls);
  const tokens = rule.outputTokens ?? estimateTokens(whole + calls);
  const isCut = tokens > request.outputTokensMax;
  const stopped = toolCalls.length > 0 ? 'tool-calls' : 'stop';
  return {
    kind: 'completed',
    message: {
      text: isCut ? cutToTokens(whole, request.outputTokensMax) : whole,
      toolCalls: isCut ? [] : toolCalls,
    },
    finishReason: isCut ? 'length' : stopped,
    usage: usageOf(request, Math.min(tokens, request.outputTokensMax)),
    cost: free,
    provider: name,
    model: parseModelName(request.model).model,
  };
}

/** Unique in the session, the same on every run, and allowed by providers that may answer later. */
function callIdOf(request: ModelRequest, at: number): string {
  return `${request.callId.replaceAll(/[^a-zA-Z0-9_-]/g, '-')}-${at}`;
}

function usageOf(request: ModelRequest, outputTokens: number): ModelUsage {
  const inputTokens = estimateInputTokens(request);
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
}

function scriptedFailure(failure: NonNullable<ScriptedRule['failure']>): ModelFailed {
  const error = {
    code: failure.code ?? `MODEL_${failure.class.toUpperCase().replaceAll('-', '_')}`,
    message: failure.message ?? `the script says: ${failure.class}`,
    class: failure.class,
    retryable: failure.retryable ?? retryableClasses.has(failure.class),
    ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }),
    ...(failure.fix === undefined ? {} : { fix: failure.fix }),
  };
  return { kind: 'failed', error };
}

function refused(thrown: Error): ModelFailed {
  const own = thrown instanceof LongreinError ? thrown : undefined;
  const error = {
    code: own?.code ?? 'MODEL_INVALID_REQUEST',
    message: thrown.message,
    class: 'invalid-request',
    retryable: false,
    ...(own?.fix === undefined ? {} : { fix: own.fix }),
  } as const;
  return { kind: 'failed', error };
}

function noRule(request: ModelRequest, file: string): LongreinError {
  const text = `no scripted answer for ${request.model} fits this conversation`;
  return new LongreinError('SCRIPTED_NO_RULE', text, {
    fix: `Add a rule to ${file} whose model is "${parseModelName(request.model).model}" or "*".`,
  });
}

function wrongAnswer(rule: ScriptedRule): LongreinError {
  const text = `the answer of ${rule.place} is neither text nor {text, toolCalls}`;
  return new LongreinError('SCRIPTED_ANSWER_INVALID', text, {
    fix: 'Let the expression give a string, or {"text": …, "toolCalls": [{"name", "arguments"}]}.',
  });
}
