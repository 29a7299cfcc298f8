import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContextPolicy } from '../../../../schemas/definitions/agent.ts';
import type { DataOf } from '../../../../schemas/event.ts';
import type { NewMessage } from '../../../../services/chassis/context/messages.ts';
import {
  type ContextLedger,
  chooseWindow,
  foldAsked,
  foldCounted,
  tokensOf,
} from '../../../../services/worker-pool/context-window.ts';

const policy = (changes: Partial<ContextPolicy> = {}): ContextPolicy => ({
  ...{ tokensMax: 1_000, overflow: 'omit', keepSteps: 1, pin: [] },
  summary: { model: 'small', instructions: 'Sum up.', outputTokensMax: 100 },
  ...changes,
});

const ledger = (...steps: readonly (readonly [number, number, boolean?])[]): ContextLedger => ({
  ...{ first: 100, note: 0, left: 0 },
  steps: steps.map(([step, tokens, pinned = false]) => ({ step, said: tokens, told: 0, pinned })),
});

const said = (characters: number): NewMessage[] => [{ role: 'user', text: 'x'.repeat(characters) }];

const data = (step: number, omit?: number[]): DataOf<'model.requested'> => ({
  ...{ call: 'c', agent: 'a.1', task: 'a', attempt: 1, step, agentName: 'a', model: 'p/m' },
  ...{ outputTokensMax: 1, timeoutMs: 1, tools: [] },
  ...(omit === undefined ? {} : { omit }),
});

describe('a window', () => {
  test('holds everything while that fits', () => {
    const { omit, fits, tokens } = chooseWindow(policy(), ledger([1, 300], [2, 300]), said(30));
    expect({ omit, fits }).toEqual({ omit: [], fits: true });
    expect(tokens).toBe(700 + tokensOf(said(30)));
  });

  test('loses its oldest steps first, down to three quarters, and never the newest', () => {
    const full = ledger([1, 300], [2, 300], [3, 200], [4, 200]);
    expect(chooseWindow(policy(), full, said(30)).omit).toEqual([1, 2]);
    expect(chooseWindow(policy({ keepSteps: 3 }), full, said(30))).toMatchObject({
      ...{ omit: [1], fits: true },
    });
    expect(chooseWindow(policy({ keepSteps: 4 }), full, said(30))).toMatchObject({ fits: false });
  });

  test('keeps what is pinned', () => {
    const full = ledger([1, 300, true], [2, 300], [3, 300], [4, 50]);
    expect(chooseWindow(policy(), full, said(30)).omit).toEqual([2, 3]);
  });

  test('does not fit where nothing may go', () => {
    expect(chooseWindow(policy({ overflow: 'fail' }), ledger([1, 950]), said(30)).fits).toBe(false);
    expect(chooseWindow(policy(), undefined, said(9_000)).fits).toBe(false);
  });
});

describe('tokens', () => {
  test('are estimated from bytes, so that no language is taken for less than it is', () => {
    expect(tokensOf([{ role: 'user', text: 'ö'.repeat(300) }])).toBeGreaterThan(200);
  });

  test('are those that the provider counted once it has answered', () => {
    const first = foldAsked(undefined, { data: data(1), messages: said(30) });
    const one = foldCounted(first, { step: 1, inputTokens: 70, outputTokens: 9, pinned: false });
    expect(one).toMatchObject({ first: 70, steps: [{ step: 1, said: 9, told: 0 }] });
    const asked = foldAsked(one, { data: data(2), messages: said(300) });
    const two = foldCounted(asked, { step: 2, inputTokens: 179, outputTokens: 5, pinned: true });
    expect(two.steps).toEqual([
      { step: 1, said: 9, told: 100, pinned: false },
      { step: 2, said: 5, told: 0, pinned: true },
    ]);
  });

  test('stay estimates where the provider counts nothing', () => {
    const first = foldAsked(undefined, { data: data(1), messages: said(30) });
    const one = foldCounted(first, { step: 1, inputTokens: 0, outputTokens: 0, pinned: false });
    expect(one.first).toBe(tokensOf(said(30)));
  });

  test('of a request that is made again count once', () => {
    const one = ledger([1, 10]);
    const asked = foldAsked(one, { data: data(2), messages: said(300) });
    expect(foldAsked(asked, { data: data(2), messages: said(300) })).toEqual(asked);
  });

  test('of steps that were left out are gone, and they are counted', () => {
    const asked = foldAsked(ledger([1, 10], [2, 20], [3, 30]), {
      ...{ data: data(4, [1, 2]), messages: said(30), note: 'Left out.' },
    });
    expect(asked).toMatchObject({ left: 2, note: 3, steps: [{ step: 3, said: 30 }] });
  });
});

test('whatever the steps come to, a window that fits is within its limit and keeps what must stay', () => {
  const step = fc.record({ tokens: fc.integer({ min: 0, max: 600 }), pinned: fc.boolean() });
  const cases = fc.record({
    steps: fc.array(step, { maxLength: 12 }),
    keepSteps: fc.integer({ min: 1, max: 4 }),
    overflow: fc.constantFrom('omit' as const, 'summarise' as const),
  });
  fc.assert(
    fc.property(cases, ({ steps, keepSteps, overflow }) => {
      const full = ledger(...steps.map((one, at) => [at + 1, one.tokens, one.pinned] as const));
      const { omit, fits, tokens } = chooseWindow(policy({ keepSteps, overflow }), full, said(9));
      if (fits) expect(tokens).toBeLessThanOrEqual(1_000);
      const kept = steps.map((_, at) => at + 1).slice(-keepSteps);
      expect(omit.filter((one) => kept.includes(one) || steps[one - 1]?.pinned)).toEqual([]);
      expect(omit).toEqual([...omit].sort((a, b) => a - b));
    }),
  );
});
