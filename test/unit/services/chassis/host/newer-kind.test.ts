import { expect, test } from 'vitest';
import { presenceTopic } from '../../../../../schemas/topics.ts';
import type { Heartbeat } from '../../../../../services/chassis/host/presence.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../services/chassis/log/partition.ts';
import { isNewerBody, isNewerKind } from '../../../../../services/chassis/protocol/record.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../support/counter-world.ts';

/** Two sessions, one in each partition. */
const [here = '', there = ''] = [0, 1].map((partition) =>
  ['ses_a', 'ses_b', 'ses_c', 'ses_d'].find((one) => partitionOf(one, partitions) === partition),
);

const ledger = { lr_kind: 'ledger', ce_type: 'longrein.ledger.v1', ce_id: 'led_1' };

const beats = (world: CounterWorld): readonly Heartbeat[] =>
  world.cluster
    .records({ topic: presenceTopic, partition: 0 })
    .map(({ value }) => createFixedCodec().decode(value ?? new Uint8Array()).body as Heartbeat);

const answers = (world: CounterWorld, session: string): number =>
  world.typesOf(session).filter((one) => one === 'task.skipped').length;

test('a record of a kind that only a newer release knows makes the host leave that partition to it', async () => {
  const world = await CounterWorld.start();
  const { host, logger } = await world.startHost('one');
  for (const session of [here, there]) world.open(session);
  await world.clock.run(1_000);
  const partition = partitionOf(here, partitions);
  world.cluster.write({ topic, partition }, [{ key: here, headers: ledger, value: null }]);
  for (const session of [here, there]) world.send(session, sent());
  await world.clock.run(10_000);
  expect([answers(world, here), answers(world, there)]).toEqual([0, 1]);
  const name = `${topic}/${partition}`;
  const { partitions: mine, halted } = host.status();
  expect(mine.find((one) => one.name === name)?.owned).toEqual([]);
  expect(halted[name]).toMatchObject({
    code: 'NEWER_RELEASE',
    message: expect.stringContaining('which only a newer release knows'),
    fix: expect.stringMatching(/newer/),
  });
  expect(host.ready).toBe(true);
  const beat = beats(world).at(-1);
  expect(beat?.partitions[name]).toBeUndefined();
  expect(beat?.halted?.[name]).toBeDefined();
  const said = logger.lines.filter(({ message }) => message === 'partition stopped');
  expect(said).toHaveLength(1);
  const fromMs = world.clock.nowMs();
  await world.during(host.stop(8_000));
  expect(world.clock.nowMs() - fromMs).toBeLessThan(2_000);
});

test('what another program wrote is no kind of ours', () => {
  expect(isNewerKind(ledger)).toBe(true);
  expect(isNewerKind({ ...ledger, ce_type: 'shop.order' })).toBe(false);
  expect(isNewerKind({ ce_type: 'longrein.ledger.v1' })).toBe(false);
  expect(isNewerKind({ lr_kind: 'turn', ce_type: 'longrein.turn.v1' })).toBe(false);
  expect(isNewerBody({ lr_kind: 'turn', ce_type: 'longrein.turn.v2' })).toBe(true);
  expect(isNewerBody({ lr_kind: 'turn', ce_type: 'longrein.turn.v1' })).toBe(false);
  expect(isNewerBody({ lr_kind: 'input', ce_type: 'longrein.input.v2' })).toBe(false);
  expect(isNewerBody({ lr_kind: 'input', ce_type: 'longrein.input.v4' })).toBe(true);
  expect(isNewerBody({ lr_kind: 'turn', ce_type: 'shop.turn.v2' })).toBe(false);
  expect(isNewerBody({ lr_kind: 'turn' })).toBe(false);
});
