// Source: keda 5096, a scale-down killed workers in the middle of messages and shook the rest.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Scene } from '../torture/scene.ts';

const many = 10;
const few = 2;

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open(['all'], { goalsPerSecond: 4 });
}, 120_000);
afterAll(() => scene?.close(), 60_000);

test('from ten hosts to two under load nothing is done twice and nothing is lost', async () => {
  const { stage, storm, results } = scene;
  const hosts = [scene.first];
  while (hosts.length < many) hosts.push(await stage.startHost(['all']));
  await Promise.all(hosts.map((host) => host.started()));
  storm.start();
  await sleep(6_000);
  const leaving = hosts.slice(0, many - few);
  const outcomes = await Promise.all(leaving.map((host) => host.stop()));
  expect(outcomes).toEqual(leaving.map(() => 'stopped'));
  await sleep(4_000);
  await storm.stop();
  expect(storm.goals.size).toBeGreaterThan(30);
  expect(await results.missing(storm.goals.keys(), 90_000)).toEqual([]);
  await sleep(3_000);
  expect(await scene.violations()).toEqual([]);
}, 240_000);
