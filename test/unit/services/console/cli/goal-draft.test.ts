import { describe, expect, it } from 'vitest';
import { checkGoal } from '../../../../../services/client/goal-request.ts';
import { goalOf, nanoUsd } from '../../../../../services/console/cli/goal-draft.ts';

const nothing = { inputs: [], context: [], labels: [] };

describe('a goal out of options', () => {
  it('takes values as JSON where they parse, else as text', () => {
    const goal = goalOf({
      ...nothing,
      plan: 'audit',
      inputs: ['path=package-lock.json', 'depth=3', 'deep=true', 'list=["a"]', 'eq=a=b'],
    });
    expect(goal['inputs']).toEqual({
      path: 'package-lock.json',
      depth: 3,
      deep: true,
      list: ['a'],
      eq: 'a=b',
    });
  });

  it('keeps labels as text', () => {
    expect(goalOf({ ...nothing, goal: 'x', labels: ['team=7'] })['labels']).toEqual({ team: '7' });
  });

  it('lets options stand before the file and adds inputs to it', () => {
    const file = { goal: 'from file', plan: 'one', inputs: { a: 1, b: 1 } };
    const goal = goalOf({ ...nothing, file, plan: 'two', inputs: ['b=2'] });
    expect(goal).toEqual({ goal: 'from file', plan: 'two', inputs: { a: 1, b: 2 } });
  });

  it('turns dollars and seconds into whole numbers', () => {
    const goal = goalOf({ ...nothing, goal: 'x', budgetUsd: '0.25', timeoutSeconds: '1.5' });
    expect(goal).toEqual({ goal: 'x', budgetNanoUsd: 250_000_000, timeoutMs: 1_500 });
  });

  it('calls a goal without words after its plan', () => {
    expect(goalOf({ ...nothing, plan: 'audit' })['goal']).toBe('Run the plan audit');
  });

  it('refuses a goal without words and plan', () => {
    expect(() => goalOf(nothing)).toThrow('there is no goal');
  });

  it('names the option that is not NAME=VALUE', () => {
    expect(() => goalOf({ ...nothing, goal: 'x', inputs: ['path'] })).toThrow('--input "path"');
    expect(() => goalOf({ ...nothing, goal: 'x', labels: ['=v'] })).toThrow('--label "=v"');
  });

  it.each(['', '.', '-1', '1e3', '0.0000000001'])('refuses %j as an amount', (text) => {
    expect(() => nanoUsd(text)).toThrow('--budget-usd');
  });

  it.each([
    ['1', 1e9],
    ['.5', 5e8],
    ['0.000000001', 1],
    ['0.1', 1e8],
  ])('reads %s dollars without rounding', (text, nano) => expect(nanoUsd(text)).toBe(nano));
});

describe('the check of a goal', () => {
  it('accepts the public shape', () => {
    expect(() => checkGoal({ goal: 'x', priority: 'bulk', labels: { a: 'b' } })).not.toThrow();
  });

  it('names the field and what it should be', () => {
    expect(() => checkGoal({ goal: 7 })).toThrow('goal must be string');
    expect(() => checkGoal({ goal: 'x', labels: { a: 1 } })).toThrow('labels.a must be string');
    expect(() => checkGoal({ goal: 'x', riskMax: 'huge' })).toThrow(
      '(low, medium, high, critical)',
    );
  });
});
