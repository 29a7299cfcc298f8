import { describe, expect, it } from 'vitest';
import type { PlanOutput } from '../../../../schemas/definitions/plan.ts';
import { joinOutputs } from '../../../../services/aggregator/join.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith } from '../../../support/world-proof.ts';

const votes = [
  { id: 'a', output: { label: 'x', sure: 1 } },
  { id: 'b', output: { label: 'y' } },
  { id: 'lost', output: undefined },
  { id: 'c', output: { label: 'x', sure: 2 } },
];
const vote = (quorum: number): PlanOutput => ({
  kind: 'vote',
  conflict: 'list',
  vote: { of: 'output.label', quorum },
});

describe('a vote', () => {
  it('is what a quorum says, with who said something else', () => {
    expect(joinOutputs(vote(2), votes)).toEqual({
      value: 'x',
      contradictions: [
        {
          member: 'vote',
          values: [
            { value: 'x', tasks: ['a', 'c'] },
            { value: 'y', tasks: ['b'] },
          ],
        },
      ],
    });
  });

  it('without a quorum is an error that names all sides', () => {
    expect(() => joinOutputs(vote(3), votes)).toThrow('"x" (a, c); "y" (b)');
  });
});

it('takes the rule of a member before the rule of all', () => {
  const rule: PlanOutput = { kind: 'merge', conflict: 'first', conflicts: { sure: 'last' } };
  expect(joinOutputs(rule, votes).value).toEqual({ label: 'x', sure: 2 });
  const strict: PlanOutput = { ...rule, conflicts: { label: 'fail' } };
  expect(() => joinOutputs(strict, votes)).toThrow('"label"');
});

const plan = (output: string): string => `
name: sides
version: 1.0.0
description: Two tasks that differ.
tasks:
  - { id: one, pool: test, agent: echoer, input: { price: 1 } }
  - { id: two, pool: test, agent: echoer, input: { price: 2 } }
output: ${output}
`;

async function run(output: string, model?: () => { text: string }) {
  const catalog = catalogWith({ 'plans/sides.yaml': plan(output) });
  const world = await MemoryWorld.start({ catalog, ...(model === undefined ? {} : { model }) });
  world.publishGoal({ goal: 'Compare.', plan: 'sides' });
  expect(await world.runUntilDone()).toBe(true);
  return world.results()[0];
}

it('shows contradictions in the result, with their sources', async () => {
  expect(await run('{ kind: merge, conflict: last }')).toMatchObject({
    status: 'completed',
    output: { price: 2 },
    contradictions: [
      {
        member: 'price',
        values: [
          { value: 1, tasks: ['one'] },
          { value: 2, tasks: ['two'] },
        ],
      },
    ],
  });
});

it('lets a model write the answer, and fails clearly without one', async () => {
  const synthesis = '{ kind: synthesis, synthesis: { model: scripted/writer, attemptsMax: 1 } }';
  const result = await run(synthesis, () => ({ text: 'One says 1, two says 2.' }));
  expect(result).toMatchObject({ status: 'completed', output: 'One says 1, two says 2.' });
  const unknown = synthesis.replace('scripted/writer', 'nowhere/writer');
  expect(await run(unknown)).toMatchObject({
    status: 'failed',
    error: { code: 'OUTPUT_SYNTHESIS_FAILED' },
  });
});
