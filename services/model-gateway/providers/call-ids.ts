/**
 * Tells the tool calls of one answer apart. Some servers leave ids empty or use one id twice, and
 * whoever looks calls up by id would then take one for the other.
 */

import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai';

/** A model of the SDK, as its providers make them. */
export type SdkModel = Parameters<typeof wrapLanguageModel>[0]['model'];

// OpenAI takes back ids of at most 40 characters.
const keptCharactersMax = 32;

/** `model`, with ids in each answer that are not empty and differ. */
export function withDistinctCallIds(model: SdkModel): SdkModel {
  const middleware: LanguageModelMiddleware = {
    specificationVersion: 'v3',
    wrapGenerate: async ({ doGenerate }) => {
      const answer = await doGenerate();
      const taken = new Set<string>();
      const content = answer.content.map((part) => {
        if (part.type !== 'tool-call') return part;
        const toolCallId = freeId(part.toolCallId, taken);
        taken.add(toolCallId);
        return { ...part, toolCallId };
      });
      return { ...answer, content };
    },
  };
  return wrapLanguageModel({ model, middleware });
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  const kept = id.trim() === '' ? 'call' : id;
  for (let attempt = 1, free = kept; ; attempt += 1) {
    if (!taken.has(free)) return free;
    free = `${kept.slice(0, keptCharactersMax)}_${attempt + 1}`;
  }
}
