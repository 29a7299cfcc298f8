import { afterAll, beforeAll, expect, test } from 'vitest';
import { event } from '../../../../../../schemas/event.ts';
import { sessionTopic } from '../../../../../../schemas/topics.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import type { OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';
import { isRunning } from '../../../../../../services/console/cli/erase/erase.ts';
import { findSessions } from '../../../../../../services/console/cli/erase/find.ts';
import { forksOf, readByRunning } from '../../../../../../services/console/cli/erase/forks.ts';
import type { FoundSession, Wanted } from '../../../../../../services/console/cli/erase/survey.ts';
import { KeyRing } from '../../../../../support/key-ring.ts';
import { MemoryWorld, type Published } from '../../../../../support/memory-world.ts';
import {
  epochBody,
  inputBody,
  recordOf,
  turnBody,
} from '../../../../../support/written-session.ts';

/** Forks that share the past of a session which is to be erased. */

const codec = createFixedCodec();
const topic = sessionTopic('normal');
const fork = 'ses_fork';
let ring: KeyRing;
let world: MemoryWorld;
let original: Published;

beforeAll(async () => {
  ring = new KeyRing({});
  world = await MemoryWorld.start({ seed: 7 });
  original = world.publishGoal({ goal: 'Once.', plan: 'flaky', tenant: 'acme' });
  expect(await world.runUntilDone()).toBe(true);
  await world.stop();
});
afterAll(() => ring.remove());

const write = (session: string, ...records: readonly OutgoingRecord[]) => {
  const log = world.connect('writer');
  return world.during(log.append({ topic, partition: partitionOf(session, 2) }, records));
};

const opening = (session: string, of: string): OutgoingRecord => {
  const place = { topic, partition: 0, from: 0, to: 9, last: 'trn_9', at: '9.0', acceptance: {} };
  const data = { of, goalId: session, lane: 'normal', ...place, shiftMs: 0, timers: [] };
  const draft = event('session.forked', { ...data, calls: [], changes: [] });
  return recordOf(`open-${session}`, inputBody(session, draft), codec);
};

const closing = (session: string): readonly OutgoingRecord[] => [
  recordOf('late-epoch', epochBody({ number: 999 }), codec),
  recordOf(
    `end-${session}`,
    turnBody(session, [event('session.closed', {})], { epoch: 999 }),
    codec,
    {
      sequence: 1,
    },
  ),
];

const find = (wanted: Wanted, withForks: boolean) => {
  const places = { log: world.connect('find'), keys: ring.open(), clickhouse: undefined };
  return world.during(findSessions(wanted, places, withForks));
};

const names = (found: readonly FoundSession[]) => found.map(({ session }) => session).sort();

test('a session without forks is found alone', async () => {
  const { ended, running } = await find({ session: original.session }, false);
  expect([names(ended), running]).toEqual([[original.session], []]);
});

test('one with a fork is refused, and goes with it when that is said and the fork has ended', async () => {
  await write(fork, opening(fork, original.session));
  const wanted = { session: original.session };
  await expect(find(wanted, false)).rejects.toMatchObject({
    code: 'SESSION_HAS_FORKS',
    message: expect.stringContaining(fork),
  });
  await expect(find(wanted, true)).rejects.toMatchObject({
    code: 'SESSION_RUNNING',
    message: expect.stringContaining(fork),
  });
  const ofTenant = await find({ tenant: 'acme' }, false);
  expect([names(ofTenant.ended), names(ofTenant.running)]).toEqual([
    [],
    [fork, original.session].sort(),
  ]);
  await write(fork, ...closing(fork));
  expect(names((await find(wanted, true)).ended)).toEqual([fork, original.session].sort());
  await expect(find(wanted, false)).rejects.toMatchObject({ code: 'SESSION_HAS_FORKS' });
  expect(names((await find({ tenant: 'acme' }, false)).ended)).toHaveLength(2);
});

test('a fork that was erased stands in the way of nobody', async () => {
  const gone = { by: 'ann', reason: 'asked', sealed: true, blobs: 0, rows: 0, files: 0 };
  await write(fork, recordOf('gone', inputBody(fork, event('session.erased', gone)), codec));
  expect(names((await find({ session: original.session }, false)).ended)).toEqual([
    original.session,
  ]);
});

test('forks of forks count, and what a running one reads waits for it', () => {
  const known = [
    { fork: 'b', of: 'a' },
    { fork: 'c', of: 'b' },
    { fork: 'y', of: 'x' },
    { fork: 'a', of: 'c' },
  ];
  expect(forksOf(known, ['a'])).toEqual(['b', 'c']);
  expect(forksOf(known, ['c', 'x'])).toEqual(['a', 'y', 'b']);
  const found = ['a', 'c', 'x', 'y'].map((session) => ({ session, tenant: 't', logs: [] }));
  const running = (one: FoundSession): boolean => one.session === 'y' || isRunning(one);
  expect([...readByRunning(known, found, running)]).toEqual(['x']);
});
