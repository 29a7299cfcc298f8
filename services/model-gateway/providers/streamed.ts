/**
 * An answer that comes token by token: told on as it comes, and whole at the end. A stream that ends
 * before the provider said why it ends is no answer.
 */

import { AISDKError, APICallError, NoOutputGeneratedError, streamText } from 'ai';

export type StreamOptions = Parameters<typeof streamText>[0];

/** What happens on the way. */
export type StreamWatch = Readonly<{
  /** Text as it comes, in order. */
  onText?: ((text: string) => void) | undefined;
  /** The first thing that the model said has come. */
  onFirst(): void;
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
  const known = AISDKError.isInstance(thrown);
  return !known || NoOutputGeneratedError.isInstance(thrown) || thrown.name === unfinished;
}

const unfinished = 'AI_InvalidResponseDataError';

const unsaid: ReadonlySet<string> = new Set(['start', 'start-step', 'finish-step', 'finish']);

/** What an answer is, streamed or not. Throws StreamCut, or what the SDK throws. */
export async function askStreamed(options: StreamOptions, watch: StreamWatch) {
  try {
    return await streamed(options, watch);
  } catch (thrown) {
    throw isCut(thrown) ? new StreamCut(thrown) : thrown;
  }
}

async function streamed(options: StreamOptions, watch: StreamWatch) {
  // Errors come as parts of the stream; without a listener the SDK prints them.
  const result = streamText({ ...options, onError: () => undefined });
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw new StreamCut();
    if (unsaid.has(part.type)) continue;
    watch.onFirst();
    if (part.type === 'text-delta') watch.onText?.(part.text);
  }
  if ((await result.rawFinishReason) === undefined) throw new StreamCut();
  const [text, reasoning, toolCalls, finishReason, usage, response] = await Promise.all([
    ...([result.text, result.reasoning, result.toolCalls] as const),
    ...([result.finishReason, result.usage, result.response] as const),
  ]);
  return { text, reasoning, toolCalls, finishReason, usage, response };
}
