// Source: langgraph 7780 and 6208, a pause for a person inside a loop ran the node from its start on each resume.
import { expect, test } from 'vitest';
import { mocked } from '../../replay-tools/fork/answers.ts';
import { forkAt } from '../../replay-tools/fork/fork.ts';
import { goalLogId } from '../../services/chassis/protocol/ids.ts';
import { ForkDesk } from '../support/live-forks.ts';
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

test('a fork behind the rounds shares them all: nobody is asked again, and the effect is not made again', async () => {
  const world = await MemoryWorld.start({ model, catalog: catalogWith(files) });
  const people = new People(world);
  const goal = world.publishGoal({ id: 'gate', goal: 'Release.', plan: 'careful' });
  for (const decision of ['denied', 'denied', 'granted'] as const)
    await people.answer(await people.asked(), { decision }).then(() => world.clock.run(5_000));
  expect(await world.runUntilDone()).toBe(true);
  const desk = new ForkDesk(world);
  const was = await desk.historyOf(goal.session);
  const asked = was.ofType('person.asked');
  expect(asked.length).toBe(3);
  for (const { event } of [...asked, ...was.ofType('person.answered')]) {
    const [at] = was.ofRecord(event.record);
    if (at === undefined) throw new Error('no record');
    const { parts, taken, unknown } = forkAt(was, at).followed;
    expect({ parts, taken, unknown }).toEqual({ parts: undefined, taken: 0, unknown: 0 });
  }
  const [counted] = was.ofType('tool.completed');
  const settled = was.ofType('person.settled').at(-1);
  const [granted] = was.ofRecord(settled?.event.record ?? '');
  if (counted === undefined || granted === undefined) throw new Error('no last round');
  // Nobody answers for people: what they would have said to the fork is not guessed.
  const mocks = mocked([{ tool: 'test.count', result: { counter: 'b' } }]);
  expect(forkAt(was, counted, { mocks }).played?.ended).not.toBe('closed');
  const session = await desk.fork(was, granted);
  const went = await desk.ended(session);
  expect(went.ofType('result.published')[0]?.event.data).toMatchObject({ status: 'completed' });
  const own = (type: string) => went.entries.filter(({ event }) => event.type === type);
  expect(own('person.settled').map(({ event }) => event.data)).toMatchObject([
    { outcome: 'answered', decision: 'granted', answeredBy: 'ann' },
  ]);
  expect(own('person.asked')).toEqual([]);
  expect(startsOf(world, 'scripted/tester')).toBe(6);
  expect(startsOf(world, 'test.count')).toBe(1);
  expect(await desk.verified(session)).toMatchObject({ identical: true });
});

test('a fork between the rounds asks for itself, and what people answer and cancel reaches it', async () => {
  const world = await MemoryWorld.start({ model, catalog: catalogWith(files) });
  const people = new People(world);
  const goal = world.publishGoal({ id: 'gate', goal: 'Release.', plan: 'careful' });
  await people.answer(await people.asked(), { decision: 'denied' });
  await world.clock.run(5_000);
  const first = await people.asked();
  await people.answer(first, { decision: 'granted' });
  expect(await world.runUntilDone()).toBe(true);
  const desk = new ForkDesk(world);
  const was = await desk.historyOf(goal.session);
  const [denied] = was.ofRecord(was.ofType('person.settled')[0]?.event.record ?? '');
  if (denied === undefined) throw new Error('no first round');

  const answered = await desk.fork(was, denied);
  await world.clock.run(5_000);
  const asked = await people.asked();
  expect(asked).toMatchObject({ session: answered, question: 'May I release? (2)' });
  await people.answer(asked, { decision: 'granted', by: 'bob' });
  const went = await desk.ended(answered);
  const own = (type: string) => went.entries.filter(({ event }) => event.type === type);
  expect(own('person.answered').map(({ event }) => event.data)).toMatchObject([
    { decision: 'granted', answeredBy: 'bob' },
  ]);
  expect(own('result.published')[0]?.event.data).toMatchObject({ status: 'completed' });
  expect(await desk.verified(answered)).toMatchObject({ identical: true, complete: true });
  const ofGoal = await desk.ended(goalLogId(answered));
  expect(ofGoal.ofType('goal.ended')[0]?.event.data).toEqual({ status: 'completed' });
  expect(await desk.verified(goalLogId(answered))).toMatchObject({ identical: true });

  const stopped = await desk.fork(was, denied);
  await world.clock.run(5_000);
  expect(await people.asked()).toMatchObject({ session: stopped });
  world.publishCancel(stopped);
  const ends = (await desk.ended(stopped)).ofType('result.published');
  expect(ends[0]?.event.data).toMatchObject({ status: 'cancelled' });
  expect(people.open()).toEqual([]);
  expect(startsOf(world, 'test.count')).toBe(1);
});
