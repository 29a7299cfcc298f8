// Source: langgraph 7780 and 6208, a pause for a person inside a loop ran the node from its start on each resume.
import { expect, test } from 'vitest';
import type { FakeModel } from '../support/memory-models.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { People } from '../support/people.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

const files = {
  'agents/careful.yaml': `
kind: model
name: careful
version: 1.0.0
description: Counts, then asks until it may go on.
role: tester
tools: [test.count, ask_person]
model: scripted/tester
prompt: Count, then ask.
repeatsMax: 10
person: { to: on-call }
`,
  'plans/careful.yaml': `
name: careful
version: 1.0.0
description: One effect before a gate.
tasks:
  - { id: one, pool: test, agent: careful, timeoutMs: 60000 }
`,
};

/** Counts once, then asks for a go-ahead until it gets it. */
const model: FakeModel = ({ messages }) => {
  const told = messages.filter(({ role }) => role === 'tool');
  if (told.length === 0)
    return { text: '', calls: [{ name: 'test.count', arguments: { counter: 'a' } }] };
  const granted = JSON.stringify(told.at(-1)).includes('"granted"');
  if (granted) return { text: 'Released.' };
  const question = `May I release? (${told.length})`;
  return { text: '', calls: [{ name: 'ask_person', arguments: { question } }] };
};

const minute = 60_000;

test.each(['goes on', 'dies while it waits'])(
  'three rounds of no, no and yes: the effect before the gate happened once, when its host %s',
  async (how) => {
    const world = await MemoryWorld.start({ model, catalog: catalogWith(files) });
    const people = new People(world);
    const goal = world.publishGoal({ id: 'gate', goal: 'Release.', plan: 'careful' });
    for (const [round, decision] of (['denied', 'denied', 'granted'] as const).entries()) {
      const asked = await people.asked();
      expect(asked).toMatchObject({ question: `May I release? (${round + 1})`, to: 'on-call' });
      await world.clock.run(3 * minute);
      expect(world.results()).toEqual([]);
      if (how !== 'goes on') {
        world.crash(`host-${round + 1}`);
        await world.startHost(`host-${round + 2}`, ['all']);
      }
      await people.answer(asked, { decision, by: `person-${round}`, reason: 'because' });
      await world.clock.run(5_000);
    }
    expect(await world.runUntilDone()).toBe(true);
    expect(statusesOf(world)).toEqual({ gate: 'completed' });
    expect(startsOf(world, 'test.count')).toBe(1);
    expect(startsOf(world, 'scripted/tester')).toBe(5);
    const proof = await WorldProof.of(world, goal);
    expect(proof.all('tool.requested')).toHaveLength(1);
    expect(proof.all('person.settled').map(({ data }) => [data.decision, data.answeredBy])).toEqual(
      [
        ['denied', 'person-0'],
        ['denied', 'person-1'],
        ['granted', 'person-2'],
      ],
    );
    expect(people.open()).toEqual([]);
  },
);
