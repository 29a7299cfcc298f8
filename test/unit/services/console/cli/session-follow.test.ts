import { expect, test } from 'vitest';
import { readFromLog } from '../../../../../replay-tools/read/kafka.ts';
import { layoutOf } from '../../../../../services/console/cli/replay-call.ts';
import { followSource } from '../../../../../services/console/cli/session-follow.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';
import { MemoryWorld } from '../../../../support/memory-world.ts';

/** `show --follow`: a session that runs, and one that is over. */

const start = () => MemoryWorld.start({ seed: 45, partitions: 1 });

function callFor(json: boolean) {
  const terminal = fakeTerminal();
  const base = { environment: {}, workingDir: '.', args: [], options: {} };
  return { ...base, terminal, json };
}

async function sourceOf(world: MemoryWorld, session: string) {
  const reading = { log: world.connect('follow'), codec: world.codec, blobs: world.blobs };
  return await world.during(readFromLog(reading, session));
}

const everything = { services: [], tasks: [], kinds: [] };

test('what happens is shown as it comes, each event once, until the session is closed', async () => {
  const world = await start();
  const inputs = { counter: 'c', waitMs: 900 };
  const { session } = world.publishGoal({ goal: 'Count.', plan: 'count', inputs });
  await world.clock.run(300);
  const call = callFor(true);
  const source = await sourceOf(world, session);
  const ended = followSource(call, source, { ...everything, ...layoutOf(call) });
  await world.clock.run(100);
  const before = call.terminal.stdout;
  expect(before).toContain('session.opened');
  expect(before).not.toContain('result.published');
  await world.runUntilDone();
  await world.during(ended);
  const lines = call.terminal.stdout.trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { place: string; type: string });
  expect(call.terminal.stdout.startsWith(before)).toBe(true);
  expect(new Set(events.map(({ place }) => place)).size).toBe(events.length);
  const types = events.map(({ type }) => type);
  expect(types).toContain('result.published');
  expect(types.filter((type) => type === 'task.completed').length).toBeGreaterThan(0);
});

test('only what was asked for is shown', async () => {
  const world = await start();
  const { session } = world.publishGoal({ goal: 'Hello.', plan: 'echo' });
  await world.clock.run(20);
  const call = callFor(true);
  const options = { ...everything, kinds: ['result'], ...layoutOf(call) };
  const ended = followSource(call, await sourceOf(world, session), options);
  await world.runUntilDone();
  await world.during(ended);
  const events = call.terminal.stdout.trimEnd().split('\n');
  expect(events.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
    'result.published',
  ]);
});

test('a session that is over is shown, and nothing is waited for', async () => {
  const world = await start();
  const { session } = world.publishGoal({ goal: 'Hello.', plan: 'echo' });
  await world.runUntilDone();
  const call = callFor(false);
  const source = await sourceOf(world, session);
  await world.during(followSource(call, source, { ...everything, ...layoutOf(call) }));
  expect(call.terminal.stdout).toContain('completed');
});
