import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import { readScriptedRules } from '../../../../services/model-gateway/providers/scripted-rules.ts';
import type { FakeTool } from '../../../support/memory-effects.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../../support/world-proof.ts';

/** The support desk of the examples: who hands on to whom, and what the lookups may spend. */

const rules = readScriptedRules('deploy/examples/scripts/support-desk.yaml');
type Calls = readonly Readonly<{ name: string; arguments: JsonValue }>[];

const scripted: FakeModel = ({ model, messages, input, tools }) => {
  const data = { messages, input, tools, step: 0 } as unknown as JsonObject;
  const name = model.slice(model.indexOf('/') + 1);
  const rule = rules.find(
    ({ model: of, when }) => of === name && (when === undefined || when.evaluate(data) === true),
  );
  const value = rule?.answer?.(data) ?? null;
  if (typeof value === 'string') return { text: value };
  return { text: '', calls: (value as unknown as { toolCalls: Calls }).toolCalls };
};

const read: FakeTool = ({ arguments: given }) => ({
  result: { content: readFileSync(String((given as JsonObject)['path']), 'utf8') },
});

async function asked(goal: string, budgetNanoUsd = 50_000_000) {
  const tools = { 'files.read': read };
  const world = await MemoryWorld.start({ catalog: catalogWith({}), tools, model: scripted });
  const published = world.publishGoal({ id: 'g', goal, plan: 'support-desk', budgetNanoUsd });
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, published);
  const given = proof.all('task.delegated').map(({ data }) => `${data.kind} ${data.to}`);
  return { result: world.results()[0], proof, given };
}

test('a question of money goes to who knows about charges, who has the order looked up', async () => {
  const { result, proof, given } = await asked('I was charged twice for order 1042.');
  expect(result?.['output']).toEqual({
    answeredBy: 'billing-specialist',
    reply: 'Order 1042 was charged 2 times. We pay 49 euros back.',
    refundEuro: 49,
  });
  expect(given).toEqual(['handoff billing-specialist', 'delegate order-lookup']);
  const [aside] = proof.all('budget.set-aside');
  expect(aside?.data.task).toBe('answer/1/1');
  const spent = proof.all('model.completed').slice(0, 2);
  const left = 50_000_000 - spent.reduce((sum, { data }) => sum + data.costNanoUsd, 0);
  expect(aside?.data.setAsideNanoUsd).toBe(Math.floor(left / 5));
});

test.each([
  ['Was I charged for order 1043?', 'was charged 1 times. There is nothing to pay back.'],
  ['Where is the refund for order 9999?', 'There is no order 9999.'],
  ['My invoice is wrong.', 'Which order is it? Write again with its number.'],
])('%s', async (goal, reply) => {
  const { result } = await asked(goal);
  expect(result?.['output']).toMatchObject({ reply: expect.stringContaining(reply) });
});

test('what does not work goes to who knows about outages', async () => {
  const { result, given } = await asked('The page parcel-tracking shows error 502.');
  expect(given).toEqual(['handoff technical-specialist', 'delegate incident-lookup']);
  expect(JSON.stringify(result?.['output'])).toContain('The carrier answers slowly since 08:10');
});

test('what is nobody’s the front answers itself', async () => {
  const { result, given } = await asked('When do you open?');
  expect(given).toEqual([]);
  expect(result?.['output']).toMatchObject({ answeredBy: 'support-desk' });
});
