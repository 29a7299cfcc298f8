/**
 * One attempt at a model through the Vercel AI SDK: one step, no retries, tools that are never run
 * here. Every outcome is a value; keys never appear in one.
 */

import { type FinishReason, generateText } from 'ai';
import type { JsonValue } from '../../../schemas/json.ts';
import { parseModelName } from '../model-name.ts';
import type { PriceBook } from '../prices.ts';
import { type SdkModel, withDistinctCallIds } from './call-ids.ts';
import { type EmbeddingParts, embeddingCost, embedTexts } from './embedding.ts';
import { modelFailureOf } from './failure.ts';
import { systemTextOf, toSdkMessages, toSdkTools } from './messages.ts';
import type {
  ModelCompleted,
  ModelCost,
  ModelFailure,
  ModelFinishReason,
  ModelOutcome,
  ModelProvider,
  ModelRequest,
  ModelToolCall,
  QuotedUse,
  StructuredOutput,
} from './port.ts';
import { keepReasoning } from './reasoning.ts';
import { createStop, type Stop, stoppedFailure } from './stop.ts';
import { askStreamed } from './streamed.ts';
import type { SdkAnswer } from './streamed-answer.ts';
import { withOutputSchema } from './structured-output.ts';
import { mapToolNames, type ToolNames } from './tool-names.ts';
import { usageOf } from './usage.ts';

/** What the adapter needs of one provider. `nowMs` gives Unix time. */
export type AiSdkProviderOptions = Readonly<{
  name: string;
  /** The SDK's model for a model name without the provider. */
  languageModel(model: string): SdkModel;
  /** The SDK's model for vectors, where the protocol has one. */
  embeddingModel?: EmbeddingParts['embeddingModel'];
  /** Keys, so that they can be taken out of what the provider says. */
  secrets: readonly string[];
  /** The variable that holds the key, for the fix of a refused key. */
  keyVariable?: string | undefined;
  prices: PriceBook;
  nowMs(): number;
  /** How long the first token may take, in milliseconds; the answer is streamed then. */
  firstTokenMs?: number | undefined;
  /** The longest pause in the middle of an answer; undefined: up to the deadline. */
  silenceMs?: number | undefined;
  /** What of JSON it can promise; `schema` if nothing is said. */
  structuredOutput?: StructuredOutput | undefined;
  /** False for a server that cannot stream: nobody sees what it says before it has said all. */
  stream?: boolean | undefined;
}>;

/** A provider over the AI SDK. */
export function createAiSdkProvider(options: AiSdkProviderOptions): ModelProvider {
  // The SDK prints warnings to the console; what matters of them is in the outcome.
  Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false);
  const kept = { ...options, languageModel: keepModels(options.languageModel) };
  return {
    name: options.name,
    complete: (request) => complete(request, kept),
    quote: (use) => quote(use, options),
  };
}

const modelsMax = 100;

/** A model holds nothing of its calls, and the SDK builds the schemas of its answers anew with each. */
function keepModels(make: (model: string) => SdkModel): (model: string) => SdkModel {
  const models = new Map<string, SdkModel>();
  return (name) => {
    const model = models.get(name) ?? make(name);
    if (models.size < modelsMax) models.set(name, model);
    return model;
  };
}

/** Nothing is assumed to come from a cache: that would only be cheaper. */
function quote(use: QuotedUse, options: AiSdkProviderOptions): ModelCost {
  const { inputTokensMost: inputTokens, outputTokensMax: outputTokens } = use;
  const none = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  return options.prices.price({
    provider: options.name,
    models: [parseModelName(use.model).model],
    usage: { inputTokens, outputTokens, ...none },
    atMs: options.nowMs(),
  });
}

async function complete(
  request: ModelRequest,
  options: AiSdkProviderOptions,
): Promise<ModelOutcome> {
  const stop = createStop(request, options.nowMs);
  const names = mapToolNames(request);
  const paid: Parameters<typeof embedTexts>[2] = [];
  try {
    stop.signal.throwIfAborted();
    if (request.texts !== undefined)
      return await embedTexts({ ...request, signal: stop.signal }, options, paid);
    const answer = await ask({ request, options, names, stop });
    return completed({ answer, request, options, names });
  } catch (thrown) {
    const reason = stop.reason();
    if (reason !== undefined) return failed(stoppedFailure(reason, options.name), options);
    const context = { ...options, provider: options.name, model: request.model };
    const outcome = failed(modelFailureOf(thrown, context), options);
    return paid.length === 0 ? outcome : withPaid(outcome, embeddingCost(paid, request, options));
  } finally {
    stop.release();
  }
}

/** Failures of a request that was on its way: the provider may have worked, and count it. */
const maybePaid: ReadonlySet<ModelFailure['class']> = new Set([
  ...(['timeout', 'cancelled', 'provider-error'] as const),
]);

function failed(error: ModelFailure, { prices }: AiSdkProviderOptions): ModelOutcome {
  if (!maybePaid.has(error.class)) return { kind: 'failed', error };
  return {
    kind: 'failed',
    error,
    cost: { costNanoUsd: 0, known: false, priceVersion: prices.version },
  };
}

/** Batches that were answered before the one that failed were paid. */
function withPaid(outcome: ModelOutcome, { usage, cost }: ReturnType<typeof embeddingCost>) {
  const known = cost.known && outcome.cost?.known !== false;
  return { ...outcome, usage, cost: { ...cost, known } };
}

type Attempt = Readonly<{
  request: ModelRequest;
  options: AiSdkProviderOptions;
  names: ToolNames;
  stop: Stop;
}>;

function ask(attempt: Attempt): Promise<SdkAnswer> {
  const { request, options, stop } = attempt;
  const { firstTokenMs, silenceMs, stream = true } = options;
  const onText = stream ? request.onText : undefined;
  const asked = questionOf(attempt);
  const whole = firstTokenMs === undefined && silenceMs === undefined;
  if (onText === undefined && whole) return generateText(asked);
  let takeBack = firstTokenMs === undefined ? undefined : stop.expireAfter(firstTokenMs, 'mute');
  const onSaid = (): void => {
    takeBack?.();
    takeBack = silenceMs === undefined ? undefined : stop.expireAfter(silenceMs, 'silent');
  };
  return askStreamed(asked, { onText, onSaid }).finally(() => takeBack?.());
}

function questionOf({ request, options, names, stop: { signal } }: Attempt) {
  const tools = toSdkTools(request, names);
  const system = systemTextOf(request);
  const model = withDistinctCallIds(options.languageModel(parseModelName(request.model).model));
  return {
    model: withOutputSchema(model, request, options.structuredOutput ?? 'schema'),
    messages: toSdkMessages(request, options.name, names),
    maxOutputTokens: request.outputTokensMax,
    maxRetries: 0,
    abortSignal: signal,
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.traceparent === undefined ? {} : { headers: { traceparent: request.traceparent } }),
  };
}

type Answered = Omit<Attempt, 'stop'> & Readonly<{ answer: SdkAnswer }>;

function completed({ answer, request, options, names }: Answered): ModelCompleted {
  const toolCalls = answer.toolCalls.map((call): ModelToolCall => {
    const input: JsonValue = JSON.parse(JSON.stringify(call.input ?? {}));
    return { id: call.toolCallId, name: names.fromWire(call.toolName), arguments: input };
  });
  const reasoning = keepReasoning(answer, options.name);
  const written = answer.text + (toolCalls.length === 0 ? '' : JSON.stringify(toolCalls));
  const { usage, counted } = usageOf(answer.usage, request, written);
  const asked = parseModelName(request.model).model;
  const models = [answer.response.modelId, asked];
  const cost = options.prices.price({
    provider: options.name,
    models,
    usage,
    atMs: options.nowMs(),
  });
  return {
    kind: 'completed',
    message: { text: answer.text, toolCalls, ...(reasoning === undefined ? {} : { reasoning }) },
    finishReason: finishReasonOf(answer.finishReason, toolCalls.length),
    usage,
    cost: counted ? cost : { ...cost, known: false },
    provider: options.name,
    model: answer.response.modelId || asked,
  };
}

/** Some servers say "stop" beside tool calls; what counts is that there are calls. */
function finishReasonOf(reason: FinishReason, toolCalls: number): ModelFinishReason {
  if (toolCalls > 0 && reason !== 'length') return 'tool-calls';
  return reason === 'error' ? 'other' : reason;
}
