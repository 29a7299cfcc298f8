// Source: flink-agents 1084 and PR 510, a restart mixed up two equal calls, or missed both.
import { expect, test } from 'vitest';
import { candidateOf } from '../../replay-tools/fork/candidate.ts';
import { forkAt, historyOfFork } from '../../replay-tools/fork/fork.ts';
import type { History } from '../../replay-tools/read/history.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { bodyOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { ForkDesk } from '../support/live-forks.ts';
import type { FakeModel } from '../support/memory-models.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

const call = { name: 'test.count', arguments: { counter: 'same' } };

/** Wants the same call in each of its first answers; keeps what it was told. */
function counting(answers: readonly number[], told: JsonValue[][]): FakeModel {
  return ({ messages }) => {
    told.push(messages.flatMap((one) => (one.role === 'tool' ? [one.result] : [])));
    const step = messages.filter(({ role }) => role === 'assistant').length;
    const calls = Array.from({ length: answers[step] ?? 0 }, () => call);
    return { afterMs: 1_000, text: calls.length === 0 ? 'Counted.' : '', calls };
  };
}

async function expectOwnResults(world: MemoryWorld, told: readonly JsonValue[][], count: number) {
  expect(statusesOf(world)).toEqual({ ask: 'completed' });
  expect(startsOf(world, 'test.count')).toBe(count);
  const calls = world.started.flatMap((one) => (one.name === 'test.count' ? [one.call] : []));
  expect(new Set(calls).size).toBe(count);
  const [goal] = world.published;
  if (goal === undefined) throw new Error('no goal was published');
  const proof = await WorldProof.of(world, goal);
  const requested = proof.all('tool.requested').map(({ data }) => data.call);
  expect([...calls].sort()).toEqual([...requested].sort());
  expect(
    proof
      .all('tool.completed')
      .map(({ data }) => data.call)
      .sort(),
  ).toEqual([...calls].sort());
  // The tool gives back the id of the call that it ran for.
  expect(told.at(-1)).toEqual(requested.map((callId) => ({ counter: 'same', callId })));
}

test('the same call before and after a restart runs twice, each with its own result', async () => {
  const told: JsonValue[][] = [];
  const world = await MemoryWorld.start({ model: counting([1, 1], told) });
  world.publishGoal({ id: 'ask', goal: 'Count twice.', plan: 'ask' });
  // The first result is in the log, and the model thinks about it.
  expect(await world.clock.run(10_000, () => told.at(-1)?.length === 1)).toBe(true);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  expect(await world.runUntilDone()).toBe(true);
  await expectOwnResults(world, told, 2);
});

test('two equal calls in one answer, and a third after a restart, are three calls', async () => {
  const told: JsonValue[][] = [];
  const world = await MemoryWorld.start({ model: counting([2, 1], told) });
  world.publishGoal({ id: 'ask', goal: 'Count three times.', plan: 'ask' });
  expect(await world.clock.run(10_000, () => told.at(-1)?.length === 2)).toBe(true);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  expect(await world.runUntilDone()).toBe(true);
  await expectOwnResults(world, told, 3);
});

/** Results of the tool in the order in which the calls were asked for. */
function resultsOf(history: History): readonly JsonValue[] {
  const ended = history.ofType('tool.completed').flatMap(({ event }) => {
    if (event.type !== 'tool.completed') return [];
    return [[event.data.call, bodyOf(event.content.result)] as const];
  });
  const results = new Map(ended);
  return history
    .ofType('tool.requested')
    .map(({ scope }) => results.get(scope.call ?? '') ?? 'nothing');
}

const catalogOf = (history: History): PinnedCatalog => {
  const [accepted] = history.ofType('plan.accepted');
  if (accepted?.event.type !== 'plan.accepted') throw new Error('no plan');
  return bodyOf(accepted.event.content.catalog) as unknown as PinnedCatalog;
};

test('a fork that answers equal calls by the record gives each the result of its own, and runs none', async () => {
  const told: JsonValue[][] = [];
  const world = await MemoryWorld.start({ model: counting([2, 1], told) });
  const { session } = world.publishGoal({ id: 'ask', goal: 'Count three times.', plan: 'ask' });
  expect(await world.runUntilDone()).toBe(true);
  const desk = new ForkDesk(world);
  const was = await desk.historyOf(session);
  const results = resultsOf(was);
  expect(new Set(results.map((one) => JSON.stringify(one))).size).toBe(3);
  const counts = catalogOf(was).tools['test.count'] as ToolDefinition;
  const candidate = candidateOf([{ what: 'tool', tool: { ...counts, version: '9.9.9' } }]);
  const [permitted] = was.ofType('tool.permitted');
  const [at] = was.ofRecord(permitted?.event.record ?? '');
  if (at === undefined) throw new Error('nothing was permitted');
  const rehearsed = forkAt(was, at, { candidate });
  expect(rehearsed.followed.parts).toMatchObject({ service: 'tool-guard', because: 'decision' });
  expect(rehearsed.played).toMatchObject({ ended: 'closed', unanswered: [] });
  expect(resultsOf(await historyOfFork(rehearsed))).toEqual(results);
  const live = await desk.fork(was, at, { tools: { from: 'record' } });
  expect(resultsOf(await desk.ended(live))).toEqual(results);
  expect(told.at(-1)).toEqual(results);
  expect(await desk.verified(live)).toMatchObject({ identical: true });
  expect(startsOf(world, 'test.count')).toBe(3);
});
