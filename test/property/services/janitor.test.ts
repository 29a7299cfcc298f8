import { expect, test } from 'vitest';
import { keysTopic, lanes, sessionTopic } from '../../../schemas/topics.ts';
import { startJanitor } from '../../support/memory-janitor.ts';
import { MemoryWorld } from '../../support/memory-world.ts';
import { seededNumbers } from '../../support/quiet-ports.ts';

/** Goals, crashes, hosts that come and go, and janitors that delete all that they may, at random. */

const groups = [['all'], ['all'], ['supervisor', 'worker-pool'], ['tool-guard', 'tool-runner']];
const logs = [...lanes.map(sessionTopic), keysTopic];

function trimmedRecords(world: MemoryWorld): number {
  const partitions = logs.flatMap((topic) => world.cluster.topics.get(topic).partitions);
  return partitions.reduce((sum, { bounds }) => sum + bounds.low, 0);
}

async function disturb(world: MemoryWorld, next: () => number, round: number): Promise<void> {
  const victim = world.hosts[Math.floor(next() * world.hosts.length)];
  const drawn = next();
  if (drawn < 0.3 && victim !== undefined && world.hosts.length > 1) world.crash(victim.name);
  else if (drawn < 0.5 && victim !== undefined && world.hosts.length > 1)
    await world.stopHost(victim.name);
  if (world.hosts.length < 3) {
    const names = groups[Math.floor(next() * groups.length)] ?? ['all'];
    await world.startHost(`again-${round}`, names);
  }
}

test.each(Array.from({ length: 6 }, (_, seed) => seed + 1))(
  'seed %i: whatever janitors delete, every goal has its one result and every session closes',
  async (seed) => {
    const next = seededNumbers(seed);
    const world = await MemoryWorld.start({ seed, hosts: [['all'], ['all']] });
    const janitors = [await startJanitor(world, 'j1'), await startJanitor(world, 'j2', 20_000)];
    for (let round = 0; round < 12; round++) {
      for (let goal = 0; goal < 3; goal++) {
        const priority = lanes[Math.floor(next() * lanes.length)] ?? 'normal';
        world.publishGoal({ goal: 'say', plan: 'echo', inputs: { said: 'x' }, priority });
      }
      await world.clock.run(Math.floor(1_000 + next() * 8_000));
      await disturb(world, next, round);
      await janitors[round % 2]?.run();
    }
    await world.startHost('last', ['all']);
    expect(await world.runUntilDone()).toBe(true);
    await world.clock.run(20_000);
    for (const janitor of janitors) await janitor.run();
    const perGoal = new Map<unknown, Set<string>>();
    for (const result of world.results()) {
      const known = perGoal.get(result['goalId']) ?? new Set();
      perGoal.set(result['goalId'], known.add(JSON.stringify(result)));
    }
    expect(perGoal.size).toBe(36);
    expect([...perGoal.values()].every(({ size }) => size === 1)).toBe(true);
    expect(trimmedRecords(world)).toBeGreaterThan(100);
    for (const { host } of world.hosts) expect(host.status().halted).toEqual({});
    expect(world.fatal).toEqual([]);
  },
);
