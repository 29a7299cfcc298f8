import { expect, test } from 'vitest';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import { parseHeader } from '../../../../../../services/chassis/protocol/record.ts';
import { chain, hosted } from '../../../../../support/chain-services.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../../support/counter-world.ts';
import { inputBody, recordOf } from '../../../../../support/written-session.ts';

/** Somebody floods a partition with inputs while a host appends fused batches to it. */

const session = 'ses_fused';
const stranger = 'ses_stranger';
const at = { topic, partition: partitionOf(session, partitions) };
const floodPerMs = 3;
const goals = 20;

test('every batch is decided once, however many records come in between', async () => {
  const world = await CounterWorld.start();
  world.servicesOf = () => [chain.a, chain.b, chain.c].map(hosted);
  await world.startHost('abc');
  world.open(session);
  await world.clock.run(100);
  let floods = 0;
  const fromMs = world.clock.nowMs();
  const flood = (): void => {
    if (world.clock.nowMs() > fromMs + 1_000) return;
    const records = Array.from({ length: floodPerMs }, () =>
      recordOf(`inp_flood_${floods++}`, inputBody(stranger, sent()), createFixedCodec()),
    );
    world.cluster.write(at, records);
    world.clock.after(1, flood);
  };
  flood();
  for (let n = 0; n < goals; n++) {
    world.send(session, sent());
    await world.clock.run(50);
  }
  await world.clock.run(2_000);
  expect(floods).toBeGreaterThan(2_000);
  const turns = world
    .records(session)
    .flatMap(({ headers }) => parseHeader(headers) ?? [])
    .filter(({ kind }) => kind === 'turn');
  expect(turns.map(({ service }) => service).join('')).toBe('abc'.repeat(goals));
  expect(new Set(turns.map(({ batch }) => batch)).size).toBe(goals);
  expect(turns.filter(({ foreseen }) => foreseen.length > 0)).toHaveLength(2 * goals);
});
