import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPriceBook, priceTableVersion } from '../../../../services/model-gateway/prices.ts';
import type { ModelUsage } from '../../../../services/model-gateway/providers/port.ts';

const atMs = Date.UTC(2026, 10, 1);

function usageOf(changes: Partial<ModelUsage>): ModelUsage {
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return { ...none, reasoningTokens: 0, ...changes };
}

describe('prices from the table', () => {
  const book = createPriceBook();

  it('carry the version that is installed', () => {
    const entry = createRequire(import.meta.url).resolve('@pydantic/genai-prices');
    const manifest = readFileSync(join(dirname(dirname(entry)), 'package.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({ version: priceTableVersion });
    expect(book.version).toBe(`genai-prices@${priceTableVersion}`);
  });

  it('charge cached input at its own price: read', () => {
    const usage = usageOf({ inputTokens: 1000, cacheReadTokens: 400, outputTokens: 100 });
    const cost = book.price({ provider: 'openai', models: ['gpt-4o'], usage, atMs });
    expect(cost).toEqual({ costNanoUsd: 3_000_000, known: true, priceVersion: book.version });
  });

  it('charge cached input at its own price: read and written', () => {
    const usage = usageOf({
      inputTokens: 130,
      cacheReadTokens: 100,
      cacheWriteTokens: 20,
      outputTokens: 5,
    });
    const models = ['claude-sonnet-4-5'];
    expect(book.price({ provider: 'anthropic', models, usage, atMs }).costNanoUsd).toBe(210_000);
  });

  it('are exact for one token and for very many', () => {
    const one = usageOf({ inputTokens: 1 });
    const many = usageOf({ inputTokens: 123_456_789, outputTokens: 1 });
    const cost = (usage: ModelUsage): number =>
      book.price({ provider: 'openai', models: ['gpt-4o-mini'], usage, atMs }).costNanoUsd;
    expect([cost(one), cost(many)]).toEqual([150, 18_518_518_950]);
  });

  it('follow the date of the call', () => {
    const usage = usageOf({ inputTokens: 1_000_000 });
    const at = (dayMs: number): number =>
      book.price({
        provider: 'openrouter',
        models: ['~anthropic/claude-opus-latest'],
        usage,
        atMs: dayMs,
      }).costNanoUsd;
    expect(at(Date.UTC(2026, 7, 1))).toBe(5_000_000_000);
    expect(at(Date.UTC(2026, 9, 1))).toBe(4_000_000_000);
  });

  it('try the model that answered first, and then the one that was asked for', () => {
    const usage = usageOf({ inputTokens: 1000 });
    const models = ['gpt-4o-tomorrow-unlisted', 'gpt-4o'];
    expect(book.price({ provider: 'openai', models, usage, atMs }).known).toBe(true);
  });

  it.each([
    ['openai', 'no-such-model'],
    ['local', 'gpt-4o'],
    ['my-openai-proxy', 'gpt-4o'],
  ])('say that they do not know %s/%s', (provider, model) => {
    const usage = usageOf({ inputTokens: 1000 });
    expect(book.price({ provider, models: [model], usage, atMs })).toEqual({
      costNanoUsd: 0,
      known: false,
      priceVersion: book.version,
    });
  });

  it('know models that are free', () => {
    const usage = usageOf({ inputTokens: 1000 });
    const models = ['deepseek/deepseek-r1:free'];
    expect(book.price({ provider: 'openrouter', models, usage, atMs })).toMatchObject({
      costNanoUsd: 0,
      known: true,
    });
  });

  it('do not lose an answer whose counts contradict each other', () => {
    const usage = usageOf({ inputTokens: 1, cacheReadTokens: 5 });
    expect(book.price({ provider: 'openai', models: ['gpt-4o'], usage, atMs }).known).toBe(false);
  });
});

describe('own prices', () => {
  const prices = {
    inputNanoUsdPerMTokens: 2_500_000_001,
    outputNanoUsdPerMTokens: 10_000_000_000,
    cacheReadNanoUsdPerMTokens: 1_250_000_000,
    cacheWriteNanoUsdPerMTokens: 3_000_000_000,
  };
  const book = createPriceBook({ 'openai/gpt-4o': prices, 'local/*': free() });

  function free() {
    return { inputNanoUsdPerMTokens: 0, outputNanoUsdPerMTokens: 0 };
  }

  it('come before the table, and are in the version', () => {
    const usage = usageOf({
      inputTokens: 1000,
      cacheReadTokens: 400,
      cacheWriteTokens: 100,
      outputTokens: 7,
    });
    const cost = book.price({ provider: 'openai', models: ['gpt-4o'], usage, atMs });
    // 500 * 2500.000001 + 400 * 1250 + 100 * 3000 + 7 * 10000 = 2120000.0005
    expect(cost).toEqual({ costNanoUsd: 2_120_000, known: true, priceVersion: book.version });
    expect(book.version).toMatch(/^genai-prices@0\.1\.8\+overrides#[0-9a-f]{12}$/);
  });

  it('hold for all the models of a provider', () => {
    const usage = usageOf({ inputTokens: 1000 });
    const cost = book.price({ provider: 'local', models: ['qwen3'], usage, atMs });
    expect(cost).toMatchObject({ costNanoUsd: 0, known: true });
  });

  it('give the same version for the same prices in any order, and another for others', () => {
    const same = createPriceBook({ 'local/*': free(), 'openai/gpt-4o': prices });
    const other = createPriceBook({ 'local/*': free() });
    expect(same.version).toBe(book.version);
    expect(other.version).not.toBe(book.version);
  });

  it('are rounded once, half up, to a whole nano-USD', () => {
    const rate = fc.integer({ min: 0, max: 1_000_000_000_000 });
    const tokens = fc.integer({ min: 0, max: 50_000_000 });
    fc.assert(
      fc.property(rate, rate, tokens, tokens, (input, output, inputTokens, outputTokens) => {
        const own = { inputNanoUsdPerMTokens: input, outputNanoUsdPerMTokens: output };
        const usage = usageOf({ inputTokens, outputTokens });
        const cost = createPriceBook({ 'a/b': own }).price({
          provider: 'a',
          models: ['b'],
          usage,
          atMs,
        });
        const exact = BigInt(input) * BigInt(inputTokens) + BigInt(output) * BigInt(outputTokens);
        const off = BigInt(cost.costNanoUsd) * 1_000_000n - exact;
        expect(off > -500_000n && off <= 500_000n).toBe(true);
      }),
    );
  });
});
