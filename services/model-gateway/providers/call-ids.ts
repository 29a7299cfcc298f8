/**
 * Tells the tool calls of one answer apart. Some servers leave ids empty or use one id twice, and
 * whoever looks calls up by id would then take one for the other.
 */

import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai';

/** A model of the SDK, as its providers make them. */
export type SdkModel = Parameters<typeof wrapLanguageModel>[0]['model'];

// OpenAI takes back ids of at most 40 characters.
const keptCharactersMax = 32;

/** One that can be asked for a stream directly, and what comes then. */
export type StreamModel = ReturnType<typeof wrapLanguageModel>;
type StreamAnswer = Awaited<ReturnType<StreamModel['doStream']>>;
export type StreamPart = StreamAnswer['stream'] extends ReadableStream<infer Part> ? Part : never;

/** `model`, with ids in each whole answer that are not empty and differ; a stream's are told apart by who reads it. */
export function withDistinctCallIds(model: SdkModel): StreamModel {
  const middleware: LanguageModelMiddleware = {
    specificationVersion: 'v3',
    wrapGenerate: async ({ doGenerate }) => {
      const answer = await doGenerate();
      const distinct = distinctIds();
      return { ...answer, content: answer.content.map(distinct) };
    },
  };
  return wrapLanguageModel({ model, middleware });
}

/** Changes the ids of the tool calls of one answer, and nothing else. */
export function distinctIds() {
  const taken = new Set<string>();
  return <P extends { type: string }>(part: P): P => {
    if (!isToolCall(part)) return part;
    const toolCallId = freeId(part.toolCallId, taken);
    taken.add(toolCallId);
    return { ...part, toolCallId };
  };
}

const isToolCall = <P extends { type: string }>(part: P): part is P & { toolCallId: string } =>
  part.type === 'tool-call' && typeof Reflect.get(part, 'toolCallId') === 'string';

function freeId(id: string, taken: ReadonlySet<string>): string {
  const kept = id.trim() === '' ? 'call' : id;
  for (let attempt = 1, free = kept; ; attempt += 1) {
    if (!taken.has(free)) return free;
    free = `${kept.slice(0, keptCharactersMax)}_${attempt + 1}`;
  }
}
