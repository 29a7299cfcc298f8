// Hard edge 1b.9.
import { expect, test } from 'vitest';
import { readOpenSessions } from '../../../../../../replay-tools/read/open-sessions.ts';
import { type Draft, event, type InputEventType, text } from '../../../../../../schemas/event.ts';
import { keysTopic, sessionTopic } from '../../../../../../schemas/topics.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import { inputId, sessionId } from '../../../../../../services/chassis/protocol/ids.ts';
import { quietLogger } from '../../../../../../services/chassis/telemetry/quiet-logger.ts';
import { MemoryWorld } from '../../../../../support/memory-world.ts';
import { completed } from '../../../../../support/placed-record.ts';
import { inputBody, recordOf } from '../../../../../support/written-session.ts';

const topic = sessionTopic('normal');
const session = sessionId('default', 'world', 'g');
const goal = { goal: 'say it', plan: 'echo', id: 'g' } as const;

/** Appends an input to the session's log as a relay or a late runner would. */
function write(world: MemoryWorld, id: string, draft: Draft<InputEventType>): void {
  const at = { topic, partition: partitionOf(session, world.partitionCount(topic)) };
  const owner = { tenant: 'default', principal: '', labels: {}, atMs: world.clock.nowMs() };
  world.cluster.write(at, [recordOf(id, inputBody(session, draft, owner), world.codec)]);
}

const cancel = (): Draft<'session.cancel-requested'> =>
  event('session.cancel-requested', { requestedBy: 'ann' }, { reason: text('changed my mind') });

const typesOf = (world: MemoryWorld): string[] =>
  world
    .records(topic)
    .filter(({ headers }) => headers['ce_subject'] === session)
    .flatMap(({ headers }) => (headers['lr_types'] ?? '').split(','));

async function openAt(world: MemoryWorld, name: string): Promise<readonly string[]> {
  const log = world.connect(`reader-${name}-${world.clock.nowMs()}`);
  const found = await world.during(readOpenSessions(log, quietLogger, [name]));
  return found.flatMap(({ open }) => open).filter((id) => !id.startsWith('key_'));
}

test('a cancel that overtakes the opening ends the session before anything is done', async () => {
  const world = await MemoryWorld.start();
  write(world, inputId(session, ['cancel']), cancel());
  await world.clock.run(1_000);
  world.publishGoal(goal);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([{ goalId: 'g', status: 'cancelled' }]);
  expect(world.started).toEqual([]);
});

test('the cancel is remembered when every host dies between it and the opening', async () => {
  const world = await MemoryWorld.start();
  write(world, inputId(session, ['cancel']), cancel());
  await world.clock.run(5_000);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  world.publishGoal(goal);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([{ status: 'cancelled' }]);
  expect(world.started).toEqual([]);
});

test('a cancel that comes after the end changes nothing, and its goal log closes all the same', async () => {
  const world = await MemoryWorld.start();
  world.publishGoal(goal);
  expect(await world.runUntilDone()).toBe(true);
  const before = typesOf(world);
  world.publishCancel('g');
  await world.clock.run(60_000);
  expect(world.results()).toMatchObject([{ status: 'completed' }]);
  // The goal log had closed with the session, so the cancel is not even handed on.
  expect(typesOf(world)).toEqual(before);
  expect(await openAt(world, keysTopic)).toEqual([]);
});

test('what comes for a closed session brings nothing: an outcome, a cancel, its opening again', async () => {
  const world = await MemoryWorld.start({ housekeepingMs: 300 });
  world.publishGoal(goal);
  expect(await world.runUntilDone()).toBe(true);
  const opening = world
    .records(topic)
    .find(({ headers }) => headers['lr_types'] === 'session.opened');
  write(world, 'inp_late', completed('call_1', 'turn_1#0'));
  write(world, inputId(session, ['cancel']), cancel());
  if (opening !== undefined) {
    const { key, headers, value, partition } = opening;
    world.cluster.write({ topic, partition }, [{ key, headers, value }]);
  }
  await world.clock.run(30_000);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  await world.clock.run(30_000);
  expect(world.results()).toHaveLength(1);
  expect(typesOf(world).filter((type) => type === 'session.closed')).toHaveLength(1);
  expect(typesOf(world).slice(-3)).toEqual([
    'tool.completed',
    'session.cancel-requested',
    'session.opened',
  ]);
  expect(await openAt(world, topic)).toEqual([]);
});
