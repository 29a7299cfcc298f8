/**
 * Vectors of texts through the AI SDK: batch after batch, since servers bound what one request may hold, and one outcome
 * for all of them. A batch that fails ends the rest; what was paid before is said.
 */

import { type EmbeddingModel, embedMany } from 'ai';
import { parseModelName } from '../model-name.ts';
import type { PriceBook } from '../prices.ts';
import type { ModelCompleted, ModelRequest, ModelUsage } from './port.ts';
import { estimateTokens } from './token-estimate.ts';

const batchTexts = 128;

export type EmbeddingParts = Readonly<{
  name: string;
  /** The SDK's model of this name; absent where the provider has none. */
  embeddingModel?: ((model: string) => Exclude<EmbeddingModel, string>) | undefined;
  prices: PriceBook;
  nowMs(): number;
}>;

type Part = Readonly<{ vectors: readonly (readonly number[])[]; tokens: number; counted: boolean }>;

/** The provider answers for no vectors. */
export class CannotEmbed extends Error {
  constructor(provider: string) {
    super(`${provider} has no models for vectors`);
  }
}

/** The server answered, but not with one vector of one length for each text. */
class VectorsWrong extends Error {
  constructor(texts: number, vectors: number) {
    super(
      `${texts} texts were sent, and the answer is not as many vectors of one length (${vectors} came)`,
    );
  }
}

async function embedBatch(
  texts: readonly string[],
  model: Exclude<EmbeddingModel, string>,
  request: ModelRequest,
): Promise<Part> {
  const { traceparent } = request;
  const answer = await embedMany({
    ...{ model, values: [...texts], maxRetries: 0, abortSignal: request.signal },
    ...(traceparent === undefined ? {} : { headers: { traceparent } }),
  });
  const { tokens } = answer.usage;
  const counted = Number.isFinite(tokens) && tokens > 0;
  const estimated = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  return { vectors: answer.embeddings, tokens: counted ? tokens : estimated, counted };
}

function whole(parts: readonly Part[], texts: readonly string[]): readonly (readonly number[])[] {
  const vectors = parts.flatMap((part) => part.vectors);
  const length = vectors[0]?.length ?? 0;
  const fits = vectors.every((one) => one.length === length && one.every(Number.isFinite));
  if (vectors.length !== texts.length || length === 0 || !fits)
    throw new VectorsWrong(texts.length, vectors.length);
  return vectors;
}

/** What the batches so far cost. */
export function embeddingCost(parts: readonly Part[], request: ModelRequest, at: EmbeddingParts) {
  const inputTokens = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const usage: ModelUsage = {
    ...{ inputTokens, outputTokens: 0, cacheReadTokens: 0 },
    ...{ cacheWriteTokens: 0, reasoningTokens: 0 },
  };
  const models = [parseModelName(request.model).model];
  const cost = at.prices.price({ provider: at.name, models, usage, atMs: at.nowMs() });
  return { usage, cost: parts.every(({ counted }) => counted) ? cost : { ...cost, known: false } };
}

/** The vectors of all texts. `paid` gets each batch as it comes. Throws CannotEmbed, or what the SDK throws. */
export async function embedTexts(
  request: ModelRequest,
  at: EmbeddingParts,
  paid: Part[],
): Promise<ModelCompleted> {
  const { texts = [] } = request;
  const { model: name } = parseModelName(request.model);
  if (at.embeddingModel === undefined) throw new CannotEmbed(at.name);
  const model = at.embeddingModel(name);
  for (let from = 0; from < texts.length; from += batchTexts)
    paid.push(await embedBatch(texts.slice(from, from + batchTexts), model, request));
  const vectors = whole(paid, texts);
  return {
    ...{ kind: 'completed', message: { text: '', toolCalls: [], vectors }, finishReason: 'stop' },
    ...{ ...embeddingCost(paid, request, at), provider: at.name, model: name },
  };
}
