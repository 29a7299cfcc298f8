// Hard edge 1b.14.
import { expect, test } from 'vitest';
import { event } from '../../../../../../schemas/event.ts';
import { limits } from '../../../../../../schemas/limits.ts';
import { Watermarks } from '../../../../../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../../support/counter-world.ts';
import { FedPartition } from '../../../../../support/fed-partition.ts';
import { idleLogic, skipped } from '../../../../../support/placed-record.ts';
import { quietPorts } from '../../../../../support/quiet-ports.ts';
import {
  epochBody,
  inputBody,
  openingBody,
  recordOf,
  turnBody,
} from '../../../../../support/written-session.ts';

/** DESIGN 3.7 and 3.11: a cause that is decided to nothing leaves no record, and must not hold anything back. */

const session = 'ses_long';
const at = { topic, partition: partitionOf(session, partitions) };

test('twenty-five thousand causes answered with nothing: checkpoints and the watermark go on', async () => {
  const world = await CounterWorld.start();
  const first = await world.startHost('one');
  world.open(session);
  await world.clock.run(100);
  const codec = createFixedCodec();
  const refused = event('key.refused', { keyLog: 'key_x', waiting: 1 });
  const total = 25_000;
  for (let from = 0; from < total; from += 500) {
    const records = Array.from({ length: 500 }, (_, index) => {
      const body = { ...inputBody(session, refused), atMs: world.clock.nowMs() };
      return recordOf(`inp_many_${from + index}`, body, codec);
    });
    world.cluster.write(at, records);
    await world.clock.run(100);
  }
  await world.clock.run(5_000);
  expect(world.typesOf(session).filter((type) => type === 'task.skipped')).toEqual([]);
  expect(world.checkpointsOf(session).length).toBeGreaterThanOrEqual(5);
  const watermarks = new Watermarks(quietPorts(world.cluster.connect('eye'), world.clock));
  await world.during(watermarks.start());
  await world.during(watermarks.current());
  const mark = watermarks.of('counter', at);
  expect(mark?.offset).toBeGreaterThan(total - limits.carryForwardRecords);
  // The next host needs no more than what is above the mark, and no answer is given twice or lost.
  first.log.crash();
  await world.during(world.cluster.connect('janitor').trim(at, mark?.offset ?? 0));
  await world.startHost('two');
  world.send(session, sent());
  await world.clock.run(1_000);
  expect(world.typesOf(session).filter((type) => type === 'task.skipped')).toHaveLength(1);
});

test('a quarter of a million causes answered with nothing on a partition of a host: checkpoints stay small, and the mark follows', () => {
  // A million take half a minute of processor time, and are no different.
  const count = 250_000;
  const looks = 1_000;
  const idle = { name: 'counter', initial: () => 0, answers: () => true };
  const fed = new FedPartition(idleLogic(idle), at);
  fed.feed('epo_other', epochBody());
  fed.feed('inp_open', openingBody(session));
  // Causes of which a session remembers nothing: turns of another service.
  const body = turnBody(session, [skipped('one')]);
  let behind = 0;
  for (let one = 1; one <= count; one++) {
    fed.feed(`trn_${one}`, body);
    if (one % looks !== 0) continue;
    fed.keepUp();
    const [mark] = fed.partition.currentMarks();
    behind = Math.max(behind, fed.position - (mark?.offset ?? 0));
  }
  expect(fed.written.filter(({ kind }) => kind === 'turn')).toEqual([]);
  const checkpoints = fed.written.filter((one) => one.kind === 'checkpoint');
  expect(behind).toBeLessThan(limits.carryForwardRecords + 2 * looks);
  expect(checkpoints.length).toBeGreaterThan(10);
  expect(Math.max(...checkpoints.map(({ state }) => state.bytes))).toBeLessThan(4_000);
});
