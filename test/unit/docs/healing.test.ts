import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { parseScriptedRules } from '../../../services/model-gateway/providers/scripted-rules.ts';
import { filesOfDocument } from '../../support/document-files.ts';
import type { FakeModel } from '../../support/memory-models.ts';
import { MemoryWorld } from '../../support/memory-world.ts';
import { People } from '../../support/people.ts';
import { catalogWith, WorldProof } from '../../support/world-proof.ts';

/** The agents of docs/agents.md that heal themselves, in a world in memory whose files come and go. */

const documented = filesOfDocument('docs/agents.md');
const script = 'scripts/stock-clerk.yaml';
const rules = parseScriptedRules(documented[script] ?? '', script);

/** The model as the script says. */
const scripted: FakeModel = ({ model, messages }) => {
  const data = { messages } as unknown as JsonObject;
  const name = model.replace('scripted/', '');
  const rule = rules.find(
    (one) => ['*', name].includes(one.model) && (one.when?.evaluate(data) ?? true) === true,
  );
  const answer: JsonValue = rule?.answer?.(data) ?? null;
  if (typeof answer === 'string') return { text: answer };
  const calls = (answer as Readonly<{ toolCalls: { name: string; arguments: JsonValue }[] }>)
    .toolCalls;
  return { text: '', calls };
};

let files: Record<string, string>;
let world: MemoryWorld;
beforeEach(async () => {
  files = {};
  world = await MemoryWorld.start({ catalog: catalogWith(documented), model: scripted, files });
});
afterEach(() => world.stop());

const stored = (name: string, stock: number): void => {
  files[`${name}.json`] = JSON.stringify({ stock });
};

async function ended(goal: ReturnType<MemoryWorld['publishGoal']>) {
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, goal);
  const steps = proof.all('task.retry-scheduled').map(({ data }) => {
    const { step, model, agent } = data.recovery ?? { step: 'none' };
    return [step, model ?? agent].filter((one) => one !== undefined).join(' ');
  });
  const result = world.results().find(({ session }) => session === goal.session);
  return { proof, steps, output: result?.['output'] };
}

const begin = (plan = 'count-stock', id = plan) => world.publishGoal({ id, goal: 'Count.', plan });

test('the clerk begins again, and reads what is there by then', async () => {
  const goal = begin();
  await world.clock.run(60_000, () => world.started.some(({ name }) => name === 'files.read'));
  await world.clock.run(500);
  stored('stock', 12);
  expect(await ended(goal)).toMatchObject({ output: { count: { stock: 12 } }, steps: ['restart'] });
});

test('the careful model takes over, then the archivist, then a person decides', async () => {
  stored('backup', 11);
  expect(await ended(begin('count-stock', 'one'))).toMatchObject({
    output: { count: { stock: 11 } },
    steps: ['restart', 'replace scripted/careful-clerk'],
  });
  delete files['backup.json'];
  stored('archive', 10);
  const steps = ['restart', 'replace scripted/careful-clerk', 'replace archivist'];
  const second = await ended(begin('count-stock', 'two'));
  expect(second).toMatchObject({ output: { count: { stock: 10 } }, steps });
  delete files['archive.json'];
  const goal = begin('count-stock', 'three');
  const people = new People(world);
  const asked = await people.asked();
  expect(asked).toMatchObject({ about: 'failure', to: 'head of stores' });
  stored('stock', 9);
  await people.answer(asked, { decision: 'granted' });
  const third = await ended(goal);
  expect(third).toMatchObject({ output: { count: { stock: 9 } }, steps: [...steps, 'escalate'] });
});

test('the shelf reader is taken out after two failures, and back after a probe', async () => {
  stored('archive', 10);
  for (const id of ['a', 'b', 'c'])
    expect((await ended(begin('count-shelf', id))).output).toEqual({ count: { stock: 10 } });
  stored('shelf', 3);
  await world.clock.run(21_000);
  const probe = await ended(begin('count-shelf', 'd'));
  expect(probe.output).toEqual({ count: { stock: 3 } });
  expect(probe.proof.all('agent.created').map(({ data }) => data.name)).toEqual(['shelf-reader']);
});
