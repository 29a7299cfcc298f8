import { expect, test } from 'vitest';
import type { PlanDefinition, PlanInput } from '../../../../../schemas/definitions/plan.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import { applyDefaults, validateInputs } from '../../../../../services/chassis/catalog/inputs.ts';

const planOf = (inputs: Record<string, PlanInput>): PlanDefinition => ({
  ...{ name: 'audit', version: '1.0.0', description: 'Audits.', inputs, tasks: [] },
  output: { kind: 'collect', conflict: 'list' },
});

const plan = planOf({
  path: { type: 'string', required: true, description: 'The lock file.' },
  depth: { type: 'number', required: false, default: 3 },
});

test('inputs that fit have no problems, whether defaults are given or not', () => {
  expect(validateInputs(plan, { path: 'a' })).toEqual([]);
  expect(validateInputs(plan, { path: 'a', depth: 1 })).toEqual([]);
});

test('a missing input is named with its type and what it is for', () => {
  expect(validateInputs(plan, {})).toEqual([
    {
      field: 'inputs.path',
      message: 'The plan "audit" needs the input "path", and the goal does not give it.',
      fix: 'Give a string as inputs.path. The lock file.',
    },
  ]);
});

test('an input that the plan does not declare is refused, with those that it does', () => {
  expect(validateInputs(plan, { path: 'a', pth: 'b' })).toEqual([
    {
      field: 'inputs.pth',
      message: 'The plan "audit" has no input "pth".',
      fix: 'Remove it, or use one of: path, depth.',
    },
  ]);
});

test('all problems are found at once', () => {
  const fields = validateInputs(plan, { depth: 'deep', more: 1 }).map(({ field }) => field);
  expect(fields).toEqual(['inputs.path', 'inputs.depth', 'inputs.more']);
});

type TypeCase = Readonly<{ type: PlanInput['type']; good: JsonValue; bad: readonly JsonValue[] }>;

const typeCases: readonly TypeCase[] = [
  { type: 'string', good: '', bad: [1, null, [], {}, true] },
  { type: 'number', good: 0, bad: ['0', null, [], {}, true] },
  { type: 'boolean', good: false, bad: ['true', 0, null] },
  { type: 'object', good: {}, bad: [[], null, 'x'] },
  { type: 'array', good: [], bad: [{}, null, 'x'] },
];

test.each(typeCases)('an input of type $type takes nothing else', ({ type, good, bad }) => {
  const typed = planOf({ value: { type, required: true } });
  expect(validateInputs(typed, { value: good })).toEqual([]);
  for (const value of bad) {
    expect(validateInputs(typed, { value })[0]?.message).toMatch(/^The input "value" is not an? /);
  }
});

test('a name that every object answers to is not given by that', () => {
  const input: PlanInput = { type: 'string', required: true };
  const odd = planOf(Object.fromEntries([['toString', input]]));
  expect(validateInputs(odd, {})).toHaveLength(1);
});

test('defaults stand in for what is missing and for nothing else', () => {
  expect(applyDefaults(plan, { path: 'a' })).toEqual({ path: 'a', depth: 3 });
  expect(applyDefaults(plan, { path: 'a', depth: 0 })).toEqual({ path: 'a', depth: 0 });
});
