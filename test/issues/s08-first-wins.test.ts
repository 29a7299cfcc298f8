import { expect, it } from 'vitest';
import { simulatedCatalog } from '../simulation/world/catalog.ts';
import { MemoryWorld } from '../support/memory-world.ts';

/** Source: inngest 4897 (parallel steps of a race were run twice, both as the first attempt). */

const branchesOf = (world: MemoryWorld) =>
  world.started.filter(({ name }) => name === 'test.count').length;

async function raced(crashAfterMs: number | undefined) {
  const counted: string[] = [];
  const world = await MemoryWorld.start({
    seed: 8,
    hosts: [['all'], ['all']],
    catalog: simulatedCatalog(),
    tools: {
      'test.flaky': () => ({ result: { ok: true } }),
      'test.count': ({ arguments: given }) => {
        const { counter } = given as { counter: string };
        counted.push(counter);
        return { result: { counter } };
      },
    },
  });
  world.publishGoal({ goal: 'Race.', plan: 'patterns' });
  if (crashAfterMs !== undefined) {
    await world.clock.run(crashAfterMs);
    world.crash('host-1');
  }
  await world.runUntilDone();
  return { world, counted };
}

it.each([undefined, 20, 60, 200, 900, 1_900])(
  'runs no branch of a race twice, a host killed after %s ms or none',
  async (crashAfterMs) => {
    const { world, counted } = await raced(crashAfterMs);
    const times = (name: string): number => counted.filter((one) => one === name).length;
    expect(times('quick')).toBeLessThanOrEqual(1);
    expect(times('slow')).toBeLessThanOrEqual(1);
    expect(branchesOf(world)).toBe(counted.length);
    expect(world.results()[0]).toMatchObject({ status: 'completed' });
    // Without a crash the winner ran, and the other was stopped while it waited.
    if (crashAfterMs === undefined) expect(counted).toEqual(['quick']);
  },
);
