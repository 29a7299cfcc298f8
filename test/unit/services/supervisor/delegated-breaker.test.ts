import { describe, expect, test } from 'vitest';
import { poolsTopic } from '../../../../schemas/topics.ts';
import { poolLogId } from '../../../../services/chassis/protocol/ids.ts';
import { giverOf, givesTo } from '../../../support/giving-agents.ts';
import { callerFiles } from '../../../support/healing-agents.ts';
import type { FakeTool } from '../../../support/memory-effects.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../../../support/world-proof.ts';

/** The breaker of a template counts and stops those to whom work was given, in a whole world in memory. */

const agents = (breaker: string, more: string): Readonly<Record<string, string>> => ({
  ...giverOf('caller', 'onError: { breaker: { failuresMax: 1, coolMs: 600000, meanwhile: fail } }'),
  ...callerFiles('called', breaker, more),
  'plans/give.yaml': `
name: give
version: 1.0.0
description: Gives work away.
tasks: [{ id: one, pool: test, agent: giver, attemptsMax: 1, backoffMs: 4000, timeoutMs: 60000, input: { goal: =goal } }]
output: { kind: collect, shape: =tasks.one }
`,
});

/** The same in a pool with limits. */
const narrow = (files: Readonly<Record<string, string>>, pools: string) =>
  Object.fromEntries([
    ...Object.entries(files).map(([path, text]) => [
      path,
      text.replace('pool: test', 'pool: narrow'),
    ]),
    ['pools.yaml', pools],
  ]) as Readonly<Record<string, string>>;

/** The ladder's own steps are not what is looked at here, so only a template that is out goes to another agent. */
async function giving(breaker: string, pools = '', more = '') {
  const tool = { works: false };
  const failure = { code: 'DOWN', class: 'unavailable', retryable: true } as const;
  const echo: FakeTool = ({ arguments: given }) => (tool.works ? { result: given } : { failure });
  const plain = agents(breaker, more);
  const files = pools === '' ? plain : narrow(plain, pools);
  const catalog = catalogWith(files);
  const world = await MemoryWorld.start({
    catalog,
    tools: { 'test.echo': echo },
    model: givesTo('caller'),
  });
  const goal = (id: string, text = 'delegate') =>
    world.publishGoal({ id, goal: text, plan: 'give' });
  const done = async (id: string, text?: string) => {
    const published = goal(id, text);
    expect(await world.runUntilDone()).toBe(true);
    return WorldProof.of(world, published);
  };
  return { world, tool, goal, done };
}

const logOf = (world: MemoryWorld, pool = 'test') =>
  WorldProof.of(world, { session: poolLogId(pool), topic: poolsTopic } as never);

const workersOf = (proof: WorldProof) =>
  proof.all('agent.created').map(({ data }) => `${data.agent} ${data.name}`);

describe('a template whose delegates fail, one after another', () => {
  test('is taken out by them; the next delegate goes to another agent, with the reason', async () => {
    const { world, done } = await giving('meanwhile: replace');
    const first = await done('a');
    expect(workersOf(first)).toEqual(['one.1 giver', 'one/1.1 caller', 'one/1.2 counting']);
    await done('b');
    const third = await done('c');
    expect(startsOf(world, 'test.echo')).toBe(2);
    expect(
      third.all('task.diverted').map(({ data }) => [data.task, data.from, data.agent]),
    ).toEqual([['one/1', 'caller', 'counting']]);
    expect(workersOf(third)).toEqual(['one.1 giver', 'one/1.1 counting']);
    expect(statusesOf(world)).toEqual({ a: 'completed', b: 'completed', c: 'completed' });
    expect(world.unclosed()).toEqual([]);
    const log = await logOf(world);
    expect(log.all('template.suspended').map(({ data }) => [data.agent, data.failures])).toEqual([
      ['caller', 2],
    ]);
  });

  test('fails them at once where its policy says so, and who delegated reads why', async () => {
    const { world, done } = await giving('meanwhile: fail');
    for (const id of ['a', 'b']) await done(id);
    const proof = await done('c');
    expect(startsOf(world, 'test.echo')).toBe(2);
    expect(proof.all('delegation.settled').map(({ data }) => data.code)).toEqual([
      'TEMPLATE_SUSPENDED',
    ]);
    expect(String(world.results().at(-1)?.['output'])).toContain('after 2 failures in a row');
  });

  test('has them wait where its policy says so, and comes back by one of them', async () => {
    const { world, tool, done, goal } = await giving('meanwhile: wait');
    for (const id of ['a', 'b']) await done(id);
    const waiting = ['c', 'd', 'e'].map((id) => goal(id));
    await world.clock.run(10_000);
    expect(startsOf(world, 'test.echo')).toBe(2);
    tool.works = true;
    expect(await world.runUntilDone()).toBe(true);
    for (const one of waiting) {
      const proof = await WorldProof.of(world, one);
      expect(workersOf(proof)).toEqual(['one.1 giver', 'one/1.1 caller']);
    }
    const log = await logOf(world);
    const places = log.all('slot.granted').flatMap(({ data }) => data.tasks);
    expect(places.filter(({ probe }) => probe !== undefined).map(({ task }) => task)).toEqual([
      'one/1',
    ]);
    expect(log.all('template.resumed')).toHaveLength(1);
  });

  test('lets go who waits for it when the time of who delegated is over', async () => {
    const { world, done, goal } = await giving('meanwhile: wait');
    for (const id of ['a', 'b']) await done(id);
    // The tool stays as it is: each probe fails, and the wait doubles beyond the time of the task.
    const published = goal('c');
    expect(await world.runUntilDone()).toBe(true);
    expect(statusesOf(world)['c']).toBeDefined();
    expect(world.unclosed()).toEqual([]);
    const proof = await WorldProof.of(world, published);
    expect(proof.all('permit.requested').length).toBe(proof.all('permit.returned').length);
  });
});

test('what a task was handed on for counts for who did it, not for who handed it on', async () => {
  const { world, done } = await giving('meanwhile: replace');
  for (const id of ['a', 'b', 'c']) await done(id, 'hand on');
  expect(statusesOf(world)).toEqual({ a: 'completed', b: 'completed', c: 'completed' });
  const log = await logOf(world);
  expect(log.all('template.suspended').map(({ data }) => data.agent)).toEqual(['caller']);
});

test('a hand-off that fails for good says nothing of the template that handed the task on', async () => {
  const { world, done } = await giving('meanwhile: fail');
  const proofs: WorldProof[] = [];
  for (const id of ['a', 'b', 'c']) proofs.push(await done(id, 'hand on'));
  // Twice another agent took over; the third time nobody may, and the giver's attempt fails with it.
  expect(proofs.map((proof) => proof.all('task.failed').length)).toEqual([1, 1, 1]);
  const log = await logOf(world);
  expect(log.all('template.suspended').map(({ data }) => data.agent)).toEqual(['caller']);
  expect(
    log.all('slot.returned').flatMap(({ data }) => data.tasks.filter(({ handedOn }) => handedOn)),
  ).toHaveLength(1);
});

test('delegates take no place of a pool with limits, also where they ask it for their template', async () => {
  const pool = '- { name: narrow, description: Has one place., concurrencyMax: 1 }\n';
  const { world, tool, done } = await giving('meanwhile: wait', pool);
  tool.works = true;
  await done('a');
  expect(statusesOf(world)).toEqual({ a: 'completed' });
  const log = await logOf(world, 'narrow');
  const most = Math.max(...log.all('slot.granted').map(({ data }) => data.held));
  expect(most).toBe(1);
  expect(log.all('slot.granted').flatMap(({ data }) => data.tasks.map(({ task }) => task))).toEqual(
    ['one', 'one/1'],
  );
});

test('a host that dies before a delegate begins again keeps neither its place nor its template', async () => {
  const { world, tool, goal } = await giving('meanwhile: replace', '', 'restart: 1');
  const published = goal('a');
  await world.clock.run(20_000, () => startsOf(world, 'test.echo') === 1);
  await world.clock.run(500);
  world.crash('host-1');
  await world.clock.run(20_000);
  tool.works = true;
  await world.startHost('host-2', ['all']);
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, published);
  expect(workersOf(proof)).toEqual(['one.1 giver', 'one/1.1 caller', 'one/1.2 caller']);
  expect(statusesOf(world)).toEqual({ a: 'completed' });
  expect(world.unclosed()).toEqual([]);
});
