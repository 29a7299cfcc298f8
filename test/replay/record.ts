import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { exportFromWorld } from '../support/world-session.ts';

/**
 * Records sessions that every later release has to verify. Run it for a new name only (`npm run build`, then
 * `node dist/test/replay/record.js NAME…`): a recording that was released is never recorded again.
 */

type Recording = () => Promise<string>;

/** A model that fails once, asks for a tool, for one that it may not have, and answers. */
const modelLoop: Recording = async () => {
  const world = await MemoryWorld.start({
    seed: 21,
    hosts: [['all'], ['all']],
    model: ({ messages }, count) => {
      const answers = messages.filter(({ role }) => role === 'assistant').length;
      if (count === 1) return { failure: { code: 'OVERLOADED', retryable: true } };
      const calls = [
        [{ name: 'test.echo', arguments: { said: 'Reins in hand. '.repeat(40) } }],
        [{ name: 'test.absent', arguments: {} }],
      ][answers];
      return calls === undefined ? { text: 'Nothing much.' } : { text: 'Wait.', calls };
    },
  });
  const labels = { team: 'blue' };
  const { session } = world.publishGoal({ goal: 'What is new?', plan: 'ask', tenant: 'acme', labels });
  await world.runUntilDone();
  return exportFromWorld(world, session);
};

/** Attempts that fail, a graceful restart between two of them, a crash in the middle of the last. */
const restarts: Recording = async () => {
  const world = await MemoryWorld.start({
    seed: 22,
    housekeepingMs: 20,
    tools: {
      'test.flaky': (_call, count) =>
        count < 3 ? { failure: { message: 'Not yet.' } } : { afterMs: 800, result: { name: 'it' } },
    },
  });
  const { session } = world.publishGoal({ goal: 'Try until it works.', plan: 'flaky' });
  await world.clock.run(100);
  await world.stopHost('host-1');
  await world.startHost('host-2', ['all']);
  await world.clock.run(60_000, () => world.started.length === 3);
  world.crash('host-2');
  await world.startHost('host-3', ['all']);
  await world.runUntilDone();
  return exportFromWorld(world, session);
};

/** Three services in each host; two tasks side by side are cancelled while their tools run. */
const cancelled: Recording = async () => {
  const world = await MemoryWorld.start({
    seed: 23,
    hosts: [
      ['intake', 'planner', 'supervisor'],
      ['worker-pool', 'tool-guard', 'aggregator'],
      ['model-gateway', 'tool-runner', 'sandbox-executor'],
    ],
  });
  const inputs = { counter: 'c', waitMs: 2_000 };
  const goal = { goal: 'Count slowly.', plan: 'count', inputs, timeoutMs: 60_000 };
  const { session, goalId } = world.publishGoal(goal);
  await world.clock.run(3_000);
  world.publishCancel(goalId, 'changed my mind');
  await world.runUntilDone();
  return exportFromWorld(world, session);
};

const recordings: Readonly<Record<string, Recording>> = {
  'model-loop': modelLoop,
  restarts,
  cancelled,
};

for (const name of process.argv.slice(2)) {
  const record = recordings[name];
  if (record === undefined) throw new Error(`there is no recording ${name}`);
  writeFileSync(join(packageRoot, 'test/replay', `${name}.jsonl`), await record());
}
