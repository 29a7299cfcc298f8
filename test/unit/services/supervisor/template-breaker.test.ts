import { describe, expect, test } from 'vitest';
import { textOf } from '../../../../schemas/event.ts';
import { poolsTopic } from '../../../../schemas/topics.ts';
import { poolLogId } from '../../../../services/chassis/protocol/ids.ts';
import { callerFiles } from '../../../support/healing-agents.ts';
import type { FakeTool } from '../../../support/memory-effects.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../../../support/world-proof.ts';

/** A template whose agents keep failing, in a whole world in memory: the tool is mended while the world runs. */

const files = (meanwhile: string): Readonly<Record<string, string>> => ({
  ...callerFiles('=input.goal', `meanwhile: ${meanwhile}`),
  'plans/call.yaml': `
name: call
version: 1.0.0
description: Calls.
tasks: [{ id: one, pool: test, agent: caller, attemptsMax: 1, backoffMs: 10, input: { goal: =goal } }]
output: { kind: collect, shape: =tasks.one }
`,
});

async function failing(meanwhile: string) {
  const tool = { works: false };
  const echo: FakeTool = ({ arguments: given }) =>
    tool.works
      ? { result: given }
      : {
          failure: { code: 'DOWN', class: 'unavailable', retryable: true, message: 'It is down.' },
        };
  const tools = { 'test.echo': echo };
  const world = await MemoryWorld.start({ catalog: catalogWith(files(meanwhile)), tools });
  const goal = (id: string) => world.publishGoal({ id, goal: id, plan: 'call' });
  const done = async (id: string) => {
    const published = goal(id);
    expect(await world.runUntilDone()).toBe(true);
    return WorldProof.of(world, published);
  };
  return { world, tool, goal, done };
}

const logOf = (world: MemoryWorld) =>
  WorldProof.of(world, { session: poolLogId('test'), topic: poolsTopic } as never);

describe('a template whose agents fail, one after another', () => {
  test('is taken out: its tasks go to another agent, with the reason, and none of its own begins', async () => {
    const { world, done } = await failing('replace');
    await done('a');
    await done('b');
    expect(startsOf(world, 'test.echo')).toBe(2);
    const proof = await done('c');
    expect(startsOf(world, 'test.echo')).toBe(2);
    expect(statusesOf(world)).toEqual({ a: 'completed', b: 'completed', c: 'completed' });
    const [diverted] = proof.all('task.diverted');
    expect(diverted?.data).toMatchObject({ from: 'caller', agent: 'counting', code: 'DOWN' });
    expect(textOf(diverted?.content.reason)).toContain('after 2 failures in a row');
    expect(proof.all('task.scheduled').map(({ data }) => data.agent)).toEqual(['counting']);
    expect(world.unclosed()).toEqual([]);
  });

  test('comes back by a probe, once it works again', async () => {
    const { world, tool, done } = await failing('replace');
    for (const id of ['a', 'b', 'c']) await done(id);
    tool.works = true;
    await world.clock.run(25_000);
    const probe = await done('d');
    expect(probe.all('task.scheduled').map(({ data }) => data.agent)).toEqual(['caller']);
    await done('e');
    expect(startsOf(world, 'test.echo')).toBe(4);
    const log = await logOf(world);
    expect(log.order('template.suspended', 'template.resumed')).toEqual([
      ...['template.suspended', 'template.resumed'],
    ]);
    expect(
      log.all('slot.granted').flatMap(({ data }) => data.tasks.filter((one) => one.probe)),
    ).toHaveLength(1);
  });

  test('stays out for longer where the probe fails', async () => {
    const { world, done } = await failing('replace');
    for (const id of ['a', 'b']) await done(id);
    await world.clock.run(25_000);
    await done('c');
    const log = await logOf(world);
    const [first, second, ...more] = log.all('template.suspended').map(({ data, atMs }) => ({
      suspensions: data.suspensions,
      waitMs: data.untilMs - atMs,
    }));
    expect([first, second]).toMatchObject([
      { suspensions: 1, waitMs: 20_000 },
      { suspensions: 2, waitMs: 40_000 },
    ]);
    expect(more).toEqual([]);
  });

  test('lets its tasks wait where its policy says so, and one of them tries', async () => {
    const { world, tool, done, goal } = await failing('wait');
    for (const id of ['a', 'b']) await done(id);
    const waiting = ['c', 'd', 'e'].map((id) => goal(id));
    await world.clock.run(10_000);
    expect(startsOf(world, 'test.echo')).toBe(2);
    tool.works = true;
    expect(await world.runUntilDone()).toBe(true);
    expect(startsOf(world, 'test.echo')).toBe(5);
    for (const one of waiting) {
      const proof = await WorldProof.of(world, one);
      expect(proof.all('task.scheduled')).toHaveLength(1);
      expect(proof.all('permit.granted')).toHaveLength(1);
    }
  });

  test('fails its tasks at once, with a clear reason, where its policy says so', async () => {
    const { world, done } = await failing('fail');
    for (const id of ['a', 'b']) await done(id);
    const proof = await done('c');
    expect(world.results().at(-1)).toMatchObject({
      status: 'failed',
      error: { code: 'TEMPLATE_SUSPENDED', message: expect.stringContaining('after 2 failures') },
    });
    expect(proof.all('task.scheduled')).toEqual([]);
  });
});
