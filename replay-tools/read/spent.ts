import { replayedPrice } from '../../services/chassis/protocol/event-kinds.ts';
import { type Happening, type History, numberIn, textIn } from './history.ts';

/** What an outcome took of its own session. What a rehearsal repeats out of the record was paid for by the other one. */

export type Spent = Readonly<{
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  costNanoUsd: number;
}>;

const nothing: Spent = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, costNanoUsd: 0 };

/** Whether nobody was called for it: the answer comes out of a record. In a rehearsal they all do. */
export const isReplayed = ({ judged }: Pick<History, 'judged'>, one: Happening): boolean =>
  judged.source.fork !== undefined || textIn(one, 'priceVersion') === replayedPrice;

/** Tokens and money as the outcome says them, whoever paid. */
export const saidBy = (one: Happening): Spent => ({
  inputTokens: numberIn(one, 'inputTokens') ?? 0,
  outputTokens: numberIn(one, 'outputTokens') ?? 0,
  cacheReadTokens: numberIn(one, 'cacheReadTokens') ?? 0,
  costNanoUsd: numberIn(one, 'costNanoUsd') ?? 0,
});

/** What it took of this session. Calls of tools cost nothing that the log knows of. */
export const spentBy = (history: Pick<History, 'judged'>, one: Happening): Spent =>
  isReplayed(history, one) ? nothing : saidBy(one);
