// Source: solace-agent-mesh 166, a reply after its time-out left two results in the conversation.
import { expect, test } from 'vitest';
import { limits } from '../../schemas/limits.ts';
import type { ToolCall } from '../../services/chassis/effects/tool-port.ts';
import type { ModelCallToMake } from '../../services/model-gateway/decide.ts';
import type { FakeTool } from '../support/memory-effects.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

const rest = ['intake', 'planner', 'supervisor', 'worker-pool', 'tool-guard', 'aggregator'];

/** A tool that hears no cancel answers when it is done, whoever still waits. */
function hearNothing(call: ToolCall): void {
  Object.defineProperty(call, 'signal', { value: new AbortController().signal });
}

const deaf: FakeTool = (call, count) => {
  hearNothing(call);
  return { afterMs: count === 1 ? 12_000 : 5, result: { said: `start ${count}` } };
};

/** A world in which a call's host lost the partition, and its new owner made the call again. */
async function worldWithLateReply() {
  const asked: ModelCallToMake[] = [];
  const world = await MemoryWorld.start({
    hosts: [[...rest, 'model-gateway'], ['tool-runner']],
    tools: { 'test.echo': deaf },
    model: (request) => {
      asked.push(request);
      const told = request.messages.some(({ role }) => role === 'tool');
      if (told) return { afterMs: 5_000, text: 'Heard.' };
      return { text: '', calls: [{ name: 'test.echo', arguments: { said: 'one' } }] };
    },
  });
  return { world, asked };
}

test('a reply after the call was made again is kept as late and changes nothing', async () => {
  const { world, asked } = await worldWithLateReply();
  const goal = world.publishGoal({ id: 'ask', goal: 'Ask.', plan: 'ask' });
  expect(await world.clock.run(5_000, () => startsOf(world, 'test.echo') === 1)).toBe(true);
  await world.startHost('host-3', ['tool-runner']);
  expect(await world.clock.run(11_900, () => startsOf(world, 'test.echo') === 2)).toBe(true);
  expect(await world.runUntilDone()).toBe(true);
  expect(statusesOf(world)).toEqual({ ask: 'completed' });
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('tool.completed')).toHaveLength(1);
  expect(proof.ignored('tool.completed')).toEqual({ late: 1 });
  const results = asked.at(-1)?.messages.filter(({ role }) => role === 'tool');
  expect(results).toMatchObject([{ result: { said: 'start 2' } }]);
});

test('a reply 1 s after its task timed out is no result of the next attempt', async () => {
  const late: FakeTool = (call, count) => {
    hearNothing(call);
    return { afterMs: count === 1 ? 3_000 : 5, result: { waitedMs: count } };
  };
  const world = await MemoryWorld.start({ tools: { 'test.wait': late } });
  const goal = world.publishGoal({ id: 'hurry', goal: 'Hurry.', plan: 'hurry' });
  expect(await world.runUntilDone()).toBe(true);
  const output = { wait: { counter: 'hurry', waitedMs: 2 } };
  expect(world.results()).toMatchObject([{ goalId: 'hurry', status: 'completed', output }]);
  expect(startsOf(world, 'test.wait')).toBe(2);
  expect(startsOf(world, 'test.count')).toBe(1);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('task.completed').map(({ data }) => data.attempt)).toEqual([2]);
  const [timedOut] = proof.all('task.timed-out');
  const reply = proof.all('tool.completed').at(-1);
  expect(reply?.data.call).toBe(proof.all('tool.requested')[0]?.data.call);
  expect((reply?.atMs ?? 0) - (timedOut?.atMs ?? 0)).toBe(1_000);
});

test('a reply 1 s after its call was lost to its deadline is kept as late, and the model is told of one result', async () => {
  // The tool has five seconds; a host waits that much longer before it gives up what does not hear that it must stop.
  const lostMs = 5_000 + limits.effectOverrunMs + limits.claimGraceMs;
  const asked: ModelCallToMake[] = [];
  const world = await MemoryWorld.start({
    tools: {
      'test.echo': (call, count) => {
        hearNothing(call);
        return { afterMs: count === 1 ? lostMs + 1_000 : 5, result: { said: `start ${count}` } };
      },
    },
    model: (request) => {
      asked.push(request);
      const told = request.messages.some(({ role }) => role === 'tool');
      // The reply comes while it thinks.
      if (told) return { afterMs: 5_000, text: 'Heard.' };
      return { text: '', calls: [{ name: 'test.echo', arguments: { said: 'one' } }] };
    },
  });
  const goal = world.publishGoal({ id: 'ask', goal: 'Ask.', plan: 'ask' });
  expect(await world.runUntilDone()).toBe(true);
  expect(statusesOf(world)).toEqual({ ask: 'completed' });
  const proof = await WorldProof.of(world, goal);
  expect(proof.ignored('tool.completed')).toEqual({ late: 1 });
  const results = asked.at(-1)?.messages.filter(({ role }) => role === 'tool');
  expect(results).toMatchObject([{ result: { said: 'start 2' } }]);
  const lost = proof.all('tool.claimed')[1];
  const reply = proof.judged.records.find(({ ignored }) => ignored === 'late');
  expect((reply?.record.body?.atMs ?? 0) - (lost?.atMs ?? 0)).toBe(1_000);
});
