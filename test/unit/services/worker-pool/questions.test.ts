import { describe, expect, test } from 'vitest';
import { approvalsTopic, deadLettersTopic } from '../../../../schemas/topics.ts';
import { bodyOfRecord } from '../../../../services/client/record-body.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { People } from '../../../support/people.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../../../support/world-proof.ts';

const gate = (person: string): Readonly<Record<string, string>> => ({
  'agents/gate.yaml': `
kind: procedure
name: gate
version: 1.0.0
description: Asks, and counts if it may.
role: tester
tools: [test.count, ask_person]
steps:
  - id: ask
    tool: ask_person
    arguments: { question: ="Count " & input.what & "?", choices: [now, later] }
  - id: count
    tool: test.count
    when: steps.ask.answer = "now"
    arguments: { counter: a }
output: { answer: =steps.ask, counted: =$exists(steps.count.counter) }
${person}
`,
  'plans/gate.yaml': `
name: gate
version: 1.0.0
description: A gate.
tasks:
  - { id: one, pool: test, agent: gate, attemptsMax: 1, input: { what: it } }
output: { kind: collect, shape: =tasks.one }
`,
});

async function gated(person = '') {
  const world = await MemoryWorld.start({ catalog: catalogWith(gate(person)) });
  const people = new People(world);
  const goal = world.publishGoal({ id: 'gate', goal: 'Ask.', plan: 'gate' });
  return { world, people, goal, asked: await people.asked() };
}

const refusals = (proof: WorldProof) =>
  proof.all('person.answer-refused').map(({ data }) => [data.answeredBy, data.because]);

describe('an answer', () => {
  test('goes to the procedure that asked, with who gave it; the step before is not made again', async () => {
    const { world, people, goal, asked } = await gated();
    expect(asked).toMatchObject({
      ...{ question: 'Count it?', choices: ['now', 'later'], about: 'question' },
    });
    await people.answer(asked, { decision: 'answered', answer: 'now', by: 'ann' });
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({
      status: 'completed',
      output: { answer: { decision: 'answered', answer: 'now', by: 'ann' }, counted: true },
    });
    const proof = await WorldProof.of(world, goal);
    expect(proof.all('person.settled')[0]?.data).toMatchObject({ answeredBy: 'ann' });
    expect(people.requests().at(-1)).toMatchObject({ state: 'answered', answeredBy: 'ann' });
  });

  test('of two the first counts; none counts that is no choice, of no question, or came too late', async () => {
    const { world, people, goal, asked } = await gated();
    await people.answer({ ...asked, approval: 'call_none' }, { by: 'eve' });
    await people.answer(asked, { decision: 'answered', answer: 'never', by: 'bob' });
    await world.clock.run(2_000);
    await people.answer(asked, { decision: 'answered', answer: 'now', by: 'ann', id: 'a1' });
    await people.answer(asked, { decision: 'denied', by: 'cid' });
    await people.answer(asked, { decision: 'answered', answer: 'now', by: 'ann', id: 'a1' });
    expect(await world.runUntilDone()).toBe(true);
    await people.answer(asked, { by: 'late' });
    await people.answer({ session: 'ses_none', approval: 'call_none' }, { by: 'lost' });
    await world.clock.run(5_000);
    expect(startsOf(world, 'test.count')).toBe(1);
    expect(world.results()).toHaveLength(1);
    expect(world.fatal).toEqual([]);
    expect(refusals(await WorldProof.of(world, goal))).toEqual([
      ...[
        ['eve', 'unknown-question'],
        ['bob', 'not-a-choice'],
        ['cid', 'already-answered'],
      ],
    ]);
  });

  test('that nobody can read becomes a dead letter, and the next one is read', async () => {
    const { world, people, asked } = await gated();
    const log = world.connect('bad');
    const at = { topic: approvalsTopic, partition: 0 };
    const values = ['{', '{"session":"s"}', JSON.stringify({ ...asked, decision: 'answered' })];
    for (const value of values)
      await world.during(
        log.append(at, [{ key: 'k', headers: {}, value: new TextEncoder().encode(value) }]),
      );
    await people.answer(asked, { decision: 'answered', answer: 'later' });
    expect(await world.runUntilDone()).toBe(true);
    const letters = [0, 1]
      .flatMap((partition) => world.cluster.records({ topic: deadLettersTopic, partition }))
      .map((record) => bodyOfRecord(record));
    expect(letters).toMatchObject([
      { reason: { code: 'ANSWER_NOT_JSON' } },
      { reason: { code: 'ANSWER_INVALID' } },
      { reason: { code: 'ANSWER_INVALID' } },
    ]);
    expect(startsOf(world, 'test.count')).toBe(0);
  });
});

describe('where nobody answers in time', () => {
  test('the call fails where the template says nothing else', async () => {
    const { world, people, goal, asked } = await gated('person: { timeoutMs: 90000 }');
    expect(asked.dueAt).toBeDefined();
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({
      ...{ status: 'failed', error: { code: 'PERSON_TIMED_OUT' } },
    });
    const proof = await WorldProof.of(world, goal);
    // The task's own time (60 s) stood still.
    expect(proof.all('task.timed-out')).toEqual([]);
    expect(people.requests().at(-1)).toMatchObject({ state: 'timed-out' });
  });

  test('the question goes to the next person, and the answer of the first still counts', async () => {
    const { world, people, goal, asked } = await gated(
      'person: { to: ann, timeoutMs: 20000, escalateTo: [bob], default: now }',
    );
    await world.clock.run(60_000, () => people.open().some(({ to }) => to === 'bob'));
    expect(people.open()).toMatchObject([{ approval: asked.approval, to: 'bob' }]);
    await people.answer(asked, { decision: 'answered', answer: 'later', by: 'ann' });
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({ output: { answer: { by: 'ann' }, counted: false } });
    const proof = await WorldProof.of(world, goal);
    expect(proof.all('person.escalated').map(({ data }) => data.to)).toEqual(['bob']);
    expect(proof.all('person.settled')).toHaveLength(1);
  });

  test('at last the default is the answer, and what comes later is refused', async () => {
    const { world, people, goal, asked } = await gated(
      'person: { timeoutMs: 20000, escalateTo: [bob], default: now }',
    );
    await world.clock.run(60_000, () => people.open().length === 0);
    await people.answer(asked, { by: 'late' });
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({
      output: { answer: { decision: 'default', answer: 'now' }, counted: true },
    });
    const proof = await WorldProof.of(world, goal);
    expect(proof.all('person.settled').map(({ data }) => data.outcome)).toEqual(['default']);
  });
});

test('a cancel withdraws the question; the goal ends, and an answer to it does nothing', async () => {
  const { world, people, goal, asked } = await gated('person: { timeoutMs: 90000 }');
  world.publishCancel('gate');
  await people.answer(asked, { decision: 'answered', answer: 'now' });
  expect(await world.runUntilDone()).toBe(true);
  expect(statusesOf(world)).toEqual({ gate: 'cancelled' });
  expect(startsOf(world, 'test.count')).toBe(0);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('person.settled')).toHaveLength(1);
  expect(people.open()).toEqual([]);
  expect(world.unclosed()).toEqual([]);
});

const spender = {
  'agents/spender.yaml': `
kind: model
name: spender
version: 1.0.0
description: Spends.
role: tester
tools: [test.echo, ask_person]
model: scripted/tester
prompt: Spend.
costNanoUsdMax: 1
onError: { budgetAskNanoUsd: 5000 }
`,
  'plans/spender.yaml': `
name: spender
version: 1.0.0
description: Spends.
tasks:
  - { id: one, pool: test, agent: spender, attemptsMax: 1 }
output: { kind: collect, shape: =tasks.one }
`,
};

/** A call that is no proper question, then an answer. */
const badlyAsking: FakeModel = ({ messages }) =>
  messages.some(({ role }) => role === 'tool')
    ? { text: JSON.stringify(messages.at(-1)) }
    : { text: '', calls: [{ name: 'ask_person', arguments: { questions: 'What?' } }] };

describe('an agent whose money is spent', () => {
  test.each(['granted', 'denied'] as const)('asks for more, and is %s it', async (decision) => {
    const world = await MemoryWorld.start({ catalog: catalogWith(spender), model: badlyAsking });
    const people = new People(world);
    const goal = world.publishGoal({ id: 'spend', goal: 'Spend.', plan: 'spender' });
    const asked = await people.asked();
    expect(asked).toMatchObject({
      about: 'budget',
      question: expect.stringContaining('$0.000005'),
    });
    await people.answer(asked, { decision });
    expect(await world.runUntilDone()).toBe(true);
    const proof = await WorldProof.of(world, goal);
    if (decision === 'denied') {
      expect(world.results()[0]).toMatchObject({ error: { code: 'COST_LIMIT' } });
      expect(proof.all('budget.raised')).toEqual([]);
      return;
    }
    expect(proof.all('budget.raised').map(({ data }) => data.byNanoUsd)).toEqual([5_000]);
    // What was no question came back from the guard with what is wrong.
    expect(proof.all('tool.denied')[0]?.data.code).toBe('ARGUMENTS_INVALID');
    expect(String(world.results()[0]?.['output'])).toContain('ARGUMENTS_INVALID');
  });
});
