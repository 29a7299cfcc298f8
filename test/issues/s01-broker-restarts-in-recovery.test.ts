// Source: dbos-transact-py 716, the database restarted while workers were recovering and the work stayed pending for ever.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Scene } from '../torture/scene.ts';

const tasks = 250;
const callMs = 4_000;

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
}, 120_000);
afterAll(() => scene?.close(), 60_000);

test('250 sessions end though their host dies and the broker restarts in the recovery', async () => {
  const { stage, storm, results } = scene;
  const [broker = 0] = stage.cluster.ids;
  for (let count = 1; count <= tasks; count += 1)
    storm.submit(`goal-${count}`, { plan: 'brief', inputs: { waitMs: callMs } });
  // A line is written in the middle of a call: most of them are on the way now.
  await scene.effectsReach(tasks / 2, 60_000);
  expect(results.byGoal.size).toBe(0);
  await scene.first.kill();
  const successor = await stage.startHost(['all']);
  while (!successor.log().includes('joined the group')) await sleep(5);
  await sleep(200);
  await stage.cluster.kill(broker);
  await stage.cluster.restart(broker);
  expect(await results.missing(storm.goals.keys(), 120_000)).toEqual([]);
  const statuses = [...results.byGoal.values()].map(([first]) => first?.status);
  expect(statuses.filter((status) => status === 'completed')).toHaveLength(tasks);
  // Logs are closed a moment after the results are out.
  await sleep(2_000);
  expect(await scene.violations()).toEqual([]);
}, 240_000);
