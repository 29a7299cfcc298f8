import { expect, test } from 'vitest';
import type { JsonObject } from '../../../../schemas/json.ts';
import { readScriptedRules } from '../../../../services/model-gateway/providers/scripted-rules.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { type Goal, MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith } from '../../../support/world-proof.ts';

/** What a goal gets that names no plan. */

const rules = readScriptedRules('deploy/examples/scripts/default.yaml');

const scripted: FakeModel = ({ model, messages, input, tools }) => {
  const data = { messages, input, tools, step: 0 } as unknown as JsonObject;
  const name = model.slice(model.indexOf('/') + 1);
  const rule = rules.find(
    ({ model: of, when }) => of === name && (when === undefined || when.evaluate(data) === true),
  );
  return { text: String(rule?.answer?.(data)) };
};

async function asked(goal: Goal) {
  const world = await MemoryWorld.start({ catalog: catalogWith({}), model: scripted });
  world.publishGoal(goal);
  expect(await world.runUntilDone()).toBe(true);
  return world.results()[0] as JsonObject;
}

test('a model takes the goal apart, and the last part gives the answer', async () => {
  const { output } = await asked({ goal: 'Move?', context: { shop: 'open', staff: 3 } });
  expect((output as JsonObject)['answer']).toMatch(
    /^Move\?\n- List what is known\. shop: open, staff: 3\n- List what speaks/,
  );
});

test('a goal without context is answered too', async () => {
  const { output } = await asked({ goal: 'Move?', agentPools: ['general'], riskMax: 'low' });
  expect((output as JsonObject)['answer']).toContain('- List what is known. Nothing was given.');
});

test('pools that the goal allows hold for the plan of the model as well', async () => {
  const { status, error } = await asked({ goal: 'Move?', agentPools: ['files'] });
  expect([status, (error as JsonObject)['code']]).toEqual(['failed', 'PLAN_REJECTED']);
  expect((error as JsonObject)['message']).toContain('Add "general" to agentPools of the goal');
});
