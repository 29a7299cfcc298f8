/**
 * What a call cost, in whole nano-USD, rounded once. Prices come from a library's table of a stated
 * version and from the operator's overrides. Costs are stored with that version and are never
 * computed again.
 */

import { createHash } from 'node:crypto';
import { calcPrice, findProvider } from '@pydantic/genai-prices';
import type { ModelCost, ModelUsage } from './providers/port.ts';

/** The version of the table in `@pydantic/genai-prices`; a test holds it to what is installed. */
export const priceTableVersion = '0.1.8';

/** Own prices of one model, nano-USD per million tokens. Cache prices default to the input's. */
export type ModelPrice = Readonly<{
  inputNanoUsdPerMTokens: number;
  outputNanoUsdPerMTokens: number;
  cacheReadNanoUsdPerMTokens?: number | undefined;
  cacheWriteNanoUsdPerMTokens?: number | undefined;
}>;

/** Own prices by "provider/model", or by "provider/*" for all the models of a provider. */
export type PriceOverrides = Readonly<Record<string, ModelPrice>>;

/** A use to be priced. `models` are tried in order; `atMs` is Unix time, for prices that change. */
export type PricedUse = Readonly<{
  provider: string;
  models: readonly string[];
  usage: ModelUsage;
  atMs: number;
}>;

export type PriceBook = Readonly<{
  version: string;
  /** The cost, or 0 and `known: false` for a model without a price. */
  price(use: PricedUse): ModelCost;
}>;

/** A price book over the table and `overrides`, which come first. */
export function createPriceBook(overrides: PriceOverrides = {}): PriceBook {
  const version = `genai-prices@${priceTableVersion}${overridesTag(overrides)}`;
  return {
    version,
    price(use) {
      const costNanoUsd = overriddenCost(use, overrides) ?? tableCost(use);
      return {
        costNanoUsd: costNanoUsd ?? 0,
        known: costNanoUsd !== undefined,
        priceVersion: version,
      };
    },
  };
}

function overridesTag(overrides: PriceOverrides): string {
  const entries = Object.entries(overrides).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return '';
  const prices = entries.map(([model, each]) => [model, ...ratesOf(each)]);
  const digest = createHash('sha256').update(JSON.stringify(prices)).digest('hex');
  return `+overrides#${digest.slice(0, 12)}`;
}

function ratesOf(price: ModelPrice): [number, number, number, number] {
  const input = price.inputNanoUsdPerMTokens;
  const read = price.cacheReadNanoUsdPerMTokens ?? input;
  const write = price.cacheWriteNanoUsdPerMTokens ?? input;
  return [input, read, write, price.outputNanoUsdPerMTokens];
}

function overriddenCost(use: PricedUse, overrides: PriceOverrides): number | undefined {
  const names = [...use.models, '*'].map((model) => `${use.provider}/${model}`);
  const found = names.find((name) => Object.hasOwn(overrides, name));
  const price = found === undefined ? undefined : overrides[found];
  if (price === undefined) return undefined;
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = use.usage;
  const plainTokens = inputTokens - cacheReadTokens - cacheWriteTokens;
  const tokens = [plainTokens, cacheReadTokens, cacheWriteTokens, outputTokens];
  const rates = ratesOf(price);
  const total = tokens.reduce((sum, each, at) => sum + BigInt(each) * BigInt(rates[at] ?? 0), 0n);
  // Half a nano-USD rounds up.
  return Number((total + 500_000n) / 1_000_000n);
}

function tableCost(use: PricedUse): number | undefined {
  // The library also matches names that merely contain a provider's; only the provider itself will
  // do.
  const provider = findProvider({ providerId: use.provider });
  if (provider?.id !== use.provider) return undefined;
  const usage = {
    input_tokens: use.usage.inputTokens,
    output_tokens: use.usage.outputTokens,
    cache_read_tokens: use.usage.cacheReadTokens,
    cache_write_tokens: use.usage.cacheWriteTokens,
  };
  const timestamp = new Date(use.atMs);
  try {
    const prices = use.models.map((model) => calcPrice(usage, model, { provider, timestamp }));
    const priced = prices.find((price) => price !== null);
    return priced ? nanoUsd(priced.total_price) : undefined;
  } catch {
    // Counts that contradict each other have no price; the answer they belong to is paid for and
    // stays.
    return undefined;
  }
}

/**
 * The library adds up fractions of a dollar; the 15 digits that are exact are kept, then rounded
 * once.
 */
function nanoUsd(usd: number): number {
  return Math.round(Number((usd * 1e9).toPrecision(15)));
}
