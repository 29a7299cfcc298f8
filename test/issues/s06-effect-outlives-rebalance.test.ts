// Source: posthog 56097, work in flight outlived the drain of a rebalance, and each piece was done twice.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HostProcess } from '../torture/host-process.ts';
import { Scene } from '../torture/scene.ts';

const goals = 24;

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
}, 120_000);
afterAll(() => scene?.close(), 60_000);

const taken = (host: HostProcess): number => host.log().split('"msg":"partition owned"').length - 1;

test('effects that outlive a rebalance are done once, and their outcomes count', async () => {
  const { stage, storm, results } = scene;
  for (let count = 1; count <= goals; count += 1)
    storm.submit(`goal-${count}`, { plan: 'write', inputs: { gate: true } });
  // All calls are on the way, and end only when they are let.
  await scene.effectsReach(goals, 60_000);
  const second = await stage.startHost(['all']);
  const third = await stage.startHost(['all']);
  await Promise.all([second.ready(), third.ready()]);
  expect(taken(second) + taken(third)).toBeGreaterThan(5);
  expect(results.byGoal.size).toBe(0);
  // And back again, as members leave in the middle of it.
  await third.kill();
  scene.openGate();
  expect(await results.missing(storm.goals.keys(), 60_000)).toEqual([]);
  const lines = scene.effects.map(({ call }) => call);
  expect(new Set(lines).size).toBe(lines.length);
  const statuses = [...results.byGoal.values()].map(([first]) => first?.status);
  expect(statuses.filter((status) => status === 'completed')).toHaveLength(goals);
  await sleep(2_000);
  expect(await scene.violations()).toEqual([]);
}, 180_000);
