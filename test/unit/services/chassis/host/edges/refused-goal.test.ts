import { expect, test } from 'vitest';
import {
  deadLettersTopic,
  keysTopic,
  resultsTopic,
  sessionTopic,
} from '../../../../../../schemas/topics.ts';
import type { AppendFault } from '../../../../../../services/chassis/log/memory/memory-network.ts';
import type { OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';
import { MemoryWorld } from '../../../../../support/memory-world.ts';
import { startsOf, statusesOf, WorldProof } from '../../../../../support/world-proof.ts';

/** Edge 2, with the real services: whatever the broker refuses, every goal ends with one result. */

const has = (records: readonly OutgoingRecord[], type: string): boolean =>
  records.some(({ headers }) => headers['lr_types'] === type || headers['ce_type'] === type);

const isGoal = (records: readonly OutgoingRecord[], goalId: string): boolean =>
  records.some(({ value }) => Buffer.from(value ?? []).includes(`"goalId":"${goalId}"`));

const isOf = (records: readonly OutgoingRecord[], tool: string): boolean =>
  records.some(({ value }) => Buffer.from(value ?? []).includes(`"tool":"${tool}"`));

async function worldWith(
  fault: (topic: string, records: readonly OutgoingRecord[]) => AppendFault,
) {
  return MemoryWorld.start({
    faults: { append: ({ topic }, records) => fault(topic, records) },
    model: () => ({ text: 'An answer.' }),
  });
}

const counted = { id: 'g', goal: 'Count.', plan: 'count', inputs: { counter: 'one' } };

const codesOf = (world: MemoryWorld): string[] =>
  world.results().map(({ error }) => String((error as { code?: string } | undefined)?.code));

test('an outcome that fits into no record fails its call: it happened, and is not made again', async () => {
  const world = await worldWith((_topic, records) =>
    has(records, 'tool.completed') && isOf(records, 'test.count') ? 'too-large' : 'ok',
  );
  const goal = world.publishGoal(counted);
  expect(await world.runUntilDone(120_000)).toBe(true);
  const proof = await WorldProof.of(world, goal);
  const [failed, ...others] = proof.all('tool.failed');
  expect(others).toEqual([]);
  expect(failed?.data).toMatchObject({
    ...{ code: 'OUTCOME_TOO_LARGE', class: 'limit', retryable: false },
  });
  expect(String(failed?.content.message.body)).toMatch(
    /^The call ran and completed, but its outcome could not be recorded/,
  );
  expect(startsOf(world, 'test.count')).toBe(1);
  expect(statusesOf(world)).toEqual({ g: 'failed' });
});

test('an answer of a model that fits into no record was paid for: its cost is kept', async () => {
  const world = await worldWith((_topic, records) =>
    has(records, 'model.completed') ? 'too-large' : 'ok',
  );
  const goal = world.publishGoal({ id: 'g', goal: 'Say it.', plan: 'ask' });
  expect(await world.runUntilDone(120_000)).toBe(true);
  const proof = await WorldProof.of(world, goal);
  const [failed] = proof.all('model.failed');
  expect(failed?.data).toMatchObject({ code: 'OUTCOME_TOO_LARGE', retryable: false });
  expect(failed?.data.costNanoUsd).toBeGreaterThan(0);
  expect(statusesOf(world)).toEqual({ g: 'failed' });
});

test('a result that the broker will not take is replaced by a failure that says why', async () => {
  let refused = 0;
  const world = await worldWith((topic) => {
    if (topic !== resultsTopic || refused > 0) return 'ok';
    refused += 1;
    return 'too-large';
  });
  const goal = world.publishGoal({ id: 'g', goal: 'Go on.', plan: 'echo' });
  expect(await world.runUntilDone(60_000)).toBe(true);
  expect(codesOf(world)).toEqual(['RESULT_REFUSED']);
  const proof = await WorldProof.of(world, goal);
  const order = ['result.published', 'delivery.refused', 'result.replaced', 'session.closed'];
  expect(
    proof.order('result.published', 'delivery.refused', 'result.replaced', 'session.closed'),
  ).toEqual(order);
});

test('a session whose results are all refused closes, and its log says so', async () => {
  const world = await worldWith((topic) => (topic === resultsTopic ? 'too-large' : 'ok'));
  const goal = world.publishGoal({ id: 'g', goal: 'Go on.', plan: 'echo' });
  const closed = (): boolean =>
    world.records().some(({ headers }) => headers['lr_types']?.includes('result.replaced')) &&
    world.unclosed().length === 0;
  expect(await world.clock.run(60_000, closed)).toBe(true);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('delivery.refused')).toHaveLength(2);
});

test('a session that cannot be opened ends its goal with a reason', async () => {
  const world = await worldWith((_topic, records) =>
    has(records, 'session.opened') ? 'too-large' : 'ok',
  );
  world.publishGoal({ id: 'g', goal: 'Go on.', plan: 'echo' });
  const answered = (): boolean => world.results().length === 1;
  expect(await world.clock.run(60_000, answered)).toBe(true);
  expect([statusesOf(world), codesOf(world)]).toEqual([{ g: 'rejected' }, ['DELIVERY_TOO_LARGE']]);
  await world.clock.run(5_000);
  expect(world.unclosed([keysTopic])).toEqual([]);
});

test('a goal that the log of goals never takes leaves a dead letter, and those behind it go on', async () => {
  const world = await worldWith((topic, records) =>
    topic === keysTopic && has(records, 'goal.received') && isGoal(records, 'big')
      ? 'too-large'
      : 'ok',
  );
  world.publishGoal({ id: 'big', goal: 'Too big.', plan: 'echo' });
  world.publishGoal({ id: 'small', goal: 'Go on.', plan: 'echo' });
  const done = (): boolean => world.results().length === 1;
  expect(await world.clock.run(60_000, done)).toBe(true);
  expect(statusesOf(world)).toEqual({ small: 'completed' });
  const letters = [...world.cluster.topics.get(deadLettersTopic).partitions.keys()]
    .flatMap((partition) => world.cluster.records({ topic: deadLettersTopic, partition }))
    .map(({ value }) => world.codec.decode(value ?? new Uint8Array()).body);
  expect(letters).toMatchObject([
    { reason: { code: 'INPUT_TOO_LARGE' }, origin: { topic: 'longrein.goals' }, goalId: 'big' },
  ]);
});

test('what is only not allowed is delivered once it is', async () => {
  let forbidden = true;
  const world = await worldWith((topic, records) => {
    const isRelay = topic === sessionTopic('normal') && has(records, 'session.opened');
    return forbidden && (isRelay || topic === resultsTopic) ? 'refused' : 'ok';
  });
  world.publishGoal({ id: 'g', goal: 'Go on.', plan: 'echo' });
  await world.clock.run(20_000);
  expect(world.results()).toEqual([]);
  forbidden = false;
  expect(await world.runUntilDone(90_000)).toBe(true);
  expect(statusesOf(world)).toEqual({ g: 'completed' });
});
