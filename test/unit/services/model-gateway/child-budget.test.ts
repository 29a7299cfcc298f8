import { expect, test } from 'vitest';
import { spend } from '../../../../services/model-gateway/calls-fold.ts';
import { Purse } from '../../../../services/model-gateway/purse.ts';
import { initialState, type ModelCallEntry } from '../../../../services/model-gateway/state.ts';

const callOf = (task: string): ModelCallEntry => ({
  ...{ agent: `${task}.1`, task, taskAttempt: 1, model: 'a/b', tools: [] },
  ...{ outputTokensMax: 10, timeoutMs: 1_000, claims: 0, claim: '', cancelled: false },
});

const quote = { inputTokensMost: 1, costNanoUsd: 40, known: true, priceVersion: 'x' };

test('branches of a task spend of its one budget', () => {
  const tasks = { each: { budgetNanoUsd: 100, spentNanoUsd: 0 } };
  const spent = spend({ ...initialState, tasks }, callOf('each:1'), 30);
  expect(spent.tasks).toEqual({ each: { budgetNanoUsd: 100, spentNanoUsd: 30 } });
  const purse = new Purse(spent);
  expect(purse.limits(callOf('each:2'))).toBe(true);
  expect(purse.limits(callOf('other:2'))).toBe(false);
  expect(purse.refuses(callOf('each:2'), quote)).toBeUndefined();
  purse.take(callOf('each:2'), quote);
  expect(purse.taskLeft('each:3')).toBe(30);
  expect(purse.refuses(callOf('each:3'), quote)).toBe('task-budget');
});
