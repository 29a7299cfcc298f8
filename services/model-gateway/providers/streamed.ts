/**
 * An answer that comes token by token: told on as it comes, and whole at the end. A stream that ends
 * before the provider said why it ends is no answer.
 *
 * The SDK's `streamText` sends every token through a dozen streams for what it can do besides: more work than the rest of
 * a call. Here its provider is asked directly, with what the SDK itself makes of prompt and tools.
 */

import { AISDKError, APICallError, type ModelMessage, type ToolSet } from 'ai';
import {
  convertToLanguageModelPrompt,
  prepareCallSettings,
  prepareToolsAndToolChoice,
  standardizePrompt,
} from 'ai/internal';
import type { StreamModel } from './call-ids.ts';
import { StreamedAnswer } from './streamed-answer.ts';

export type StreamOptions = Readonly<{
  model: StreamModel;
  messages: ModelMessage[];
  system?: string;
  tools?: ToolSet;
  maxOutputTokens: number;
  temperature?: number;
  headers?: Record<string, string>;
  abortSignal: AbortSignal;
}>;

type StreamParams = Parameters<StreamModel['doStream']>[0];

/** What happens on the way. */
export type StreamWatch = Readonly<{
  /** Text as it comes, in order. */
  onText?: ((text: string) => void) | undefined;
  /** A piece of what the model says has come. */
  onSaid(): void;
}>;

/** The connection ended in the middle of an answer. */
export class StreamCut extends Error {
  constructor(cause?: unknown) {
    super('the stream ended before the answer did', { cause });
  }
}

/** A success that could not be read to its end, or that ended without its reason. */
function isCut(thrown: unknown): boolean {
  if (APICallError.isInstance(thrown))
    return thrown.statusCode === 200 && thrown.responseBody === undefined;
  return !AISDKError.isInstance(thrown) || thrown.name === unfinished;
}

const unfinished = 'AI_InvalidResponseDataError';

/** What comes before the model has said anything, or after. */
const unsaid: ReadonlySet<string> = new Set(['stream-start', 'response-metadata', 'raw', 'finish']);

/** What an answer is, streamed or not. Throws StreamCut, or what the SDK throws. */
export async function askStreamed(options: StreamOptions, watch: StreamWatch) {
  try {
    return await streamed(options, watch);
  } catch (thrown) {
    throw isCut(thrown) ? new StreamCut(thrown) : thrown;
  }
}

async function promptOf({ model, messages, system, abortSignal }: StreamOptions) {
  const given = { messages, ...(system === undefined ? {} : { system }) };
  const prompt = await standardizePrompt(given);
  const supportedUrls = await model.supportedUrls;
  return convertToLanguageModelPrompt({ prompt, supportedUrls, download: undefined, abortSignal });
}

async function paramsOf(options: StreamOptions): Promise<StreamParams> {
  const { headers, abortSignal, maxOutputTokens, temperature } = options;
  const settings = { maxOutputTokens, ...(temperature === undefined ? {} : { temperature }) };
  const choice = { tools: options.tools, toolChoice: undefined, activeTools: undefined };
  const { tools, toolChoice } = await prepareToolsAndToolChoice(choice);
  return {
    ...prepareCallSettings(settings),
    prompt: await promptOf(options),
    abortSignal,
    ...(tools === undefined ? {} : { tools }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(headers === undefined ? {} : { headers }),
  };
}

async function streamed(options: StreamOptions, watch: StreamWatch) {
  const { model } = options;
  const { stream } = await model.doStream(await paramsOf(options));
  const answer = new StreamedAnswer(model.modelId);
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (!unsaid.has(part.type)) watch.onSaid();
    if (part.type === 'text-delta' && part.delta !== '') watch.onText?.(part.delta);
    answer.take(part);
  }
  const whole = answer.whole();
  if (whole === undefined) throw new StreamCut();
  return whole;
}
