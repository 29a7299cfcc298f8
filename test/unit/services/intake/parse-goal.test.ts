import { describe, expect, test } from 'vitest';
import { limits } from '../../../../schemas/limits.ts';
import { createCodec, createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import { type ParsedGoal, parseGoal } from '../../../../services/intake/parse-goal.ts';
import { catalog, echo, goalRecord } from '../../../support/goal-record.ts';

const codec = createFixedCodec();
const parse = (value: unknown, headers: Record<string, string> = {}): ParsedGoal =>
  parseGoal(goalRecord(value, { headers }), { codec, catalog });
const problemOf = (value: unknown, headers: Record<string, string> = {}) => {
  const parsed = parse(value, headers);
  return parsed.kind === 'problem' ? parsed.problem : undefined;
};

describe('a goal', () => {
  test('is taken as plain JSON and in a frame', () => {
    expect(parse(echo)).toEqual({ kind: 'goal', goal: echo });
    expect(parse(codec.encode('goal', echo))).toEqual({ kind: 'goal', goal: echo });
  });

  test('may carry all that the schema knows', () => {
    const whole = {
      ...echo,
      id: 'goal-1',
      inputs: { said: 'hello' },
      context: { any: ['thing'] },
      tenant: 'acme',
      principal: 'user:ada',
      labels: { team: 'red' },
      key: 'nightly',
      priority: 'bulk',
      timeoutMs: 1,
      budgetNanoUsd: 0,
      valueNanoUsd: 5,
      agentPools: ['main'],
      riskMax: 'low',
    };
    expect(parse(whole)).toEqual({ kind: 'goal', goal: whole });
  });

  test('that asks to cancel is a cancel', () => {
    const cancel = { cancel: 'goal-1', source: '/crm', requestedBy: 'mary', reason: 'late' };
    expect(parse(cancel)).toEqual({ kind: 'cancel', cancel });
  });
});

describe('what cannot be read says so, with what to do', () => {
  test.each([
    ['GOAL_EMPTY', null],
    ['GOAL_EMPTY', ''],
    ['GOAL_TOO_LARGE', 'x'.repeat(limits.goalBytesMax + 1)],
    ['GOAL_NOT_JSON', '{"goal": '],
    ['GOAL_NOT_JSON', Buffer.from([0, 0, 0, 0, 5, 123])],
    ['GOAL_NOT_OBJECT', '[1]'],
    ['GOAL_NOT_OBJECT', 'null'],
    ['GOAL_NOT_OBJECT', '"goal"'],
    ['SCHEMA_ID_UNKNOWN', codec.encode('result', {})],
    ['SCHEMA_ID_UNKNOWN', createCodec(new Map([['goal', 77]])).encode('goal', echo)],
  ])('%s', (code, value) => {
    const problem = problemOf(value);
    expect(problem?.code).toBe(code);
    expect(problem?.message.length).toBeGreaterThan(10);
    expect(problem?.fix).toMatch(/^[A-Z].*\.$/);
  });

  test('GOAL_TOO_DEEP: nesting that would break every reader', () => {
    const deep = (depth: number): string =>
      `{"goal":"x","plan":"echo","context":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
    expect(problemOf(deep(50))).toBeUndefined();
    expect(problemOf(deep(200_000))).toMatchObject({
      code: 'GOAL_TOO_DEEP',
      message: expect.stringContaining('levels'),
    });
  });
});

describe('what is not a goal names the field', () => {
  test.each([
    ['GOAL_FIELD_MISSING', 'goal', { plan: 'echo' }],
    ['GOAL_FIELD_INVALID', 'goal', { ...echo, goal: 7 }],
    ['GOAL_FIELD_INVALID', 'goal', { ...echo, goal: '' }],
    ['GOAL_FIELD_INVALID', 'goal', { ...echo, goal: 'x'.repeat(65_537) }],
    ['GOAL_FIELD_INVALID', 'priority', { ...echo, priority: 'urgent' }],
    ['GOAL_FIELD_INVALID', 'labels.team', { ...echo, labels: { team: 7 } }],
    ['GOAL_FIELD_INVALID', 'agentPools.0', { ...echo, agentPools: [''] }],
    ['GOAL_FIELD_INVALID', 'timeoutMs', { ...echo, timeoutMs: 0 }],
    ['GOAL_FIELD_INVALID', 'budget', { ...echo, budget: 5 }],
    ['GOAL_FIELD_INVALID', 'id', { ...echo, id: 'x'.repeat(129) }],
    ['GOAL_FIELD_INVALID', 'cancel', { cancel: '' }],
    ['GOAL_FIELD_INVALID', 'why', { cancel: 'goal-1', why: 'x' }],
    ['PLAN_UNKNOWN', 'plan', { ...echo, plan: 'nothing' }],
    ['PLAN_UNKNOWN', 'plan', { ...echo, plan: 'constructor' }],
    ['INPUT_INVALID', 'inputs.said', { ...echo, inputs: { said: 7 } }],
    ['INPUT_INVALID', 'inputs.other', { ...echo, inputs: { other: 7 } }],
  ])('%s at %s', (code, field, value) => {
    expect(problemOf(value)).toMatchObject({ code, field });
  });

  test('the plans that there are, where the one named is not', () => {
    expect(problemOf({ ...echo, plan: 'nothing' })?.fix).toContain('echo');
  });

  test('briefly, however long the name of the field is', () => {
    const name = 'n'.repeat(10_000);
    for (const value of [
      { ...echo, [name]: 1 },
      { ...echo, inputs: { [name]: 1 } },
      { ...echo, plan: name },
    ])
      expect(problemOf(value)?.field?.length ?? 0).toBeLessThanOrEqual(512);
  });

  test('what could be read is kept, to answer under the right id', () => {
    const value = { id: 'goal-1', tenant: 'acme', priority: 'urgent' };
    expect(parse(value)).toMatchObject({ kind: 'problem', partial: value });
  });
});

describe('headers that no goal can have are a problem of the goal', () => {
  test.each([
    ['ce_id', 'x'.repeat(129)],
    ['ce_source', 'x'.repeat(513)],
  ])('%s', (name, value) => {
    expect(problemOf(echo, { [name]: value })).toMatchObject({
      code: 'GOAL_HEADER_INVALID',
      field: name,
    });
  });
});
