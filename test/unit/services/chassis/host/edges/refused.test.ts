// Hard edge 1b.2.
import { describe, expect, test } from 'vitest';
import type { AppendFault } from '../../../../../../services/chassis/log/memory/memory-network.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import type { OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';
import {
  type AcceptanceState,
  accept,
} from '../../../../../../services/chassis/protocol/acceptance.ts';
import { parseHeader } from '../../../../../../services/chassis/protocol/record.ts';
import {
  CounterWorld,
  granted,
  partitions,
  pinged,
  sent,
  timerMs,
  topic,
} from '../../../../../support/counter-world.ts';

/** Edge 2: a request that the broker refuses for good. */

const names = ['ses_a', 'ses_b', 'ses_c', 'ses_d', 'ses_e', 'ses_f'];
/** Two sessions of one partition. */
const [first = '', second = ''] = names.filter((one) => partitionOf(one, partitions) === 0);

const has = (records: readonly OutgoingRecord[], type: string, session?: string): boolean =>
  records.some(
    ({ headers }) =>
      headers['lr_types']?.includes(type) === true &&
      (session === undefined || headers['ce_subject'] === session),
  );

async function worldWith(fault: (records: readonly OutgoingRecord[]) => AppendFault) {
  const world = await CounterWorld.start({
    append: (at, records) => (at.topic === topic ? fault(records) : 'ok'),
  });
  const one = await world.startHost('one');
  for (const session of [first, second]) world.open(session);
  await world.clock.run(500);
  return { world, one };
}

/** Every turn and checkpoint in the log was accepted: its number was the next one. */
function expectNoGaps(world: CounterWorld): void {
  const acceptance: AcceptanceState = {};
  const void_ = world.records(first).filter(({ headers }) => {
    const header = parseHeader(headers);
    return header !== undefined && !accept(acceptance, header);
  });
  expect(void_.map(({ headers }) => headers['ce_id'])).toEqual([]);
}

const epochsIn = (world: CounterWorld): number =>
  world.records(first).filter(({ headers }) => headers['lr_kind'] === 'epoch').length;

const alarms = ({ logger }: Awaited<ReturnType<CounterWorld['startHost']>>): string[] =>
  logger.lines.filter(({ level }) => level === 'error').map(({ message }) => message);

describe('a refused turn', () => {
  test('abandons its numbers by a new epoch; the partition goes on, and no number is skipped', async () => {
    let refused = 0;
    const { world } = await worldWith((records) => {
      if (refused > 0 || !has(records, 'task.skipped')) return 'ok';
      refused += 1;
      return 'refused';
    });
    for (let n = 0; n < 5; n++) {
      for (const session of [first, second]) world.send(session, sent());
      await world.clock.run(100);
    }
    await world.clock.run(1_000);
    expect(refused).toBe(1);
    expect([first, second].map((one) => world.countOf(one).answered)).toEqual([5, 5]);
    expect(epochsIn(world)).toBe(2);
    expectNoGaps(world);
  });

  test('leaves the claims before it standing: their effects run once, and their outcomes count', async () => {
    let refused = 0;
    const { world } = await worldWith((records) => {
      if (refused > 0 || !has(records, 'task.skipped')) return 'ok';
      refused += 1;
      return 'refused';
    });
    world.effectMs = 3_000;
    world.send(first, granted());
    await world.clock.run(500);
    expect(world.started).toEqual(['c1']);
    world.send(second, sent());
    await world.clock.run(10_000);
    expect([refused, epochsIn(world)]).toEqual([1, 2]);
    expect(world.started).toEqual(['c1']);
    expect(world.countOf(first)).toMatchObject({ claims: 1, outcomes: 1 });
    expect(world.typesOf(first)).not.toContain('tool.unknown');
    expect(world.countOf(second).answered).toBe(1);
    expectNoGaps(world);
  });

  test('of a partition where nothing may be written is tried less and less often, and goes on after', async () => {
    let tries = 0;
    let forbidden = false;
    const { world, one } = await worldWith(() => {
      if (!forbidden) return 'ok';
      tries += 1;
      return 'refused';
    });
    forbidden = true;
    world.send(first, sent());
    await world.clock.run(600_000);
    expect(tries).toBeLessThan(60);
    expect(alarms(one)).toContain('partition not served: epoch refused');
    forbidden = false;
    await world.clock.run(70_000);
    expect(world.countOf(first).answered).toBe(1);
    expectNoGaps(world);
  });

  test('that is too large for the broker fails its service in its session, and no other session', async () => {
    const { world } = await worldWith((records) =>
      has(records, 'task.skipped', first) ? 'too-large' : 'ok',
    );
    for (const session of [first, second]) world.send(session, sent());
    await world.clock.run(20_000);
    expect(world.countOf(second).answered).toBe(1);
    expect(world.typesOf(first)).toContain('decision.failed');
    expect(world.entry(first).core.failed).toEqual(['counter']);
    const epochs = epochsIn(world);
    world.send(first, sent());
    world.send(second, sent());
    await world.clock.run(20_000);
    expect(world.countOf(second).answered).toBe(2);
    expect(epochsIn(world)).toBe(epochs);
    expectNoGaps(world);
  });

  test('in a request that is too large only together is sent in smaller ones', async () => {
    const { world } = await worldWith((records) => (records.length > 2 ? 'too-large' : 'ok'));
    const many = names.filter((one) => partitionOf(one, partitions) === 0);
    for (const session of many) world.open(session);
    for (let n = 0; n < 10; n++) for (const session of many) world.send(session, sent());
    await world.clock.run(60_000);
    expect(many.map((one) => world.countOf(one).answered)).toEqual(many.map(() => 10));
    expect(many.flatMap((one) => world.entry(one).core.failed)).toEqual([]);
    expectNoGaps(world);
  });
});

describe('a refused input of a host', () => {
  test('that is an outcome is written once the right to write is there: the effect ran once', async () => {
    let forbidden = true;
    const { world, one } = await worldWith((records) =>
      forbidden && has(records, 'tool.completed') ? 'refused' : 'ok',
    );
    world.send(first, granted());
    await world.clock.run(30_000);
    expect(world.countOf(first)).toMatchObject({ claims: 1, outcomes: 0 });
    expect(alarms(one)).toContain('refused by the broker for now; sent again later');
    forbidden = false;
    await world.clock.run(30_000);
    expect(world.countOf(first)).toMatchObject({ claims: 1, outcomes: 1 });
    expect(world.started).toEqual(['c1']);
    expect(world.typesOf(first)).not.toContain('tool.unknown');
  });

  test('that is an outcome no record holds ends as a call whose end nobody saw', async () => {
    const { world } = await worldWith((records) =>
      has(records, 'tool.completed') ? 'too-large' : 'ok',
    );
    world.send(first, granted());
    await world.clock.run(5_000);
    expect(world.typesOf(first)).toContain('tool.unknown');
    expect(world.started).toEqual(['c1']);
  });

  test('that is a timer is written once the right to write is there', async () => {
    let forbidden = true;
    const { world } = await worldWith((records) =>
      forbidden && has(records, 'timer.fired') ? 'refused' : 'ok',
    );
    world.send(first, pinged());
    await world.clock.run(4 * timerMs);
    expect(world.countOf(first).fires).toBe(0);
    forbidden = false;
    await world.clock.run(60_000);
    expect(world.countOf(first).fires).toBe(1);
  });
});
