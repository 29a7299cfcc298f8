/** Groups: who holds which partition. */

import { expect, test } from 'vitest';
import type { Bench } from './bench.ts';
import { eventually, GroupWitness, numbered, quiet, ReadWitness } from './log-witness.ts';

function kept(before: readonly string[], after: readonly string[]): number {
  return after.filter((one) => before.includes(one)).length;
}

export function groupContract(bench: Bench): void {
  test('a single member holds every partition of its topics', async () => {
    const topics = [await bench.topic(3), await bench.topic(2)];
    const witness = new GroupWitness();
    const member = await bench.join(bench.connect(), bench.freshName(), topics, witness);
    await witness.holds(5);
    await member.leave();
    expect(witness.crashes).toEqual([]);
  });

  test('a second member gets half of it, and gives it back when it leaves', async () => {
    const topic = await bench.topic(6);
    const group = bench.freshName();
    const [first, second] = [new GroupWitness(), new GroupWitness()];
    await bench.join(bench.connect('first'), group, [topic], first);
    await first.holds(6);
    const all = first.held;
    const member = await bench.join(bench.connect('second'), group, [topic], second);
    await Promise.all([first.holds(3), second.holds(3)]);
    expect([...first.held, ...second.held].sort()).toEqual(all);
    await member.leave();
    await first.holds(6);
    expect(first.crashes).toEqual([]);
  });

  test('a third member takes from each of the two, and they keep the rest', async () => {
    const topic = await bench.topic(6);
    const group = bench.freshName();
    const witnesses = [new GroupWitness(), new GroupWitness(), new GroupWitness()] as const;
    const [first, second, third] = witnesses;
    await bench.join(bench.connect('first'), group, [topic], first);
    await bench.join(bench.connect('second'), group, [topic], second);
    await Promise.all([first.holds(3), second.holds(3)]);
    const before = [first.held, second.held] as const;
    await bench.join(bench.connect('third'), group, [topic], third);
    await Promise.all(witnesses.map((witness) => witness.holds(2)));
    expect(kept(before[0], first.held)).toBe(2);
    expect(kept(before[1], second.held)).toBe(2);
    const union = witnesses.flatMap((witness) => witness.held);
    expect(new Set(union).size).toBe(6);
  });

  test('a log that is closed leaves its groups', async () => {
    const topic = await bench.topic(2);
    const group = bench.freshName();
    const [first, second] = [new GroupWitness(), new GroupWitness()];
    await bench.join(bench.connect('first'), group, [topic], first);
    const closing = bench.connect('second');
    await bench.join(closing, group, [topic], second);
    await Promise.all([first.holds(1), second.holds(1)]);
    await closing.close();
    await first.holds(2);
    const heard = second.assignments.length;
    await quiet();
    expect(second.assignments).toHaveLength(heard);
  });

  test('a member without partitions is told so', async () => {
    const topic = await bench.topic(1);
    const group = bench.freshName();
    const [first, second] = [new GroupWitness(), new GroupWitness()];
    await bench.join(bench.connect('first'), group, [topic], first);
    await first.holds(1);
    await bench.join(bench.connect('second'), group, [topic], second);
    await eventually('an assignment', () => second.assignments.length > 0);
    expect(first.held.length + second.held.length).toBe(1);
  });

  test('groups do not see each other, and committing does not move a reader', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const [one, other] = [new GroupWitness(), new GroupWitness()];
    const member = await bench.join(log, bench.freshName(), [topic], one);
    await bench.join(log, bench.freshName(), [topic], other);
    await Promise.all([one.holds(1), other.holds(1)]);
    await log.append({ topic, partition: 0 }, numbered(3));
    await member.commit([{ topic, partition: 0, offset: 2 }]);
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 0);
    await witness.count(3);
    expect(witness.offsets(0)).toEqual([0, 1, 2]);
  });

  test('joining for an unknown topic is an error that names it', async () => {
    const topic = bench.freshName();
    const joining = bench.join(bench.connect(), bench.freshName(), [topic], new GroupWitness());
    await expect(joining).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' });
    await expect(joining).rejects.toThrow(topic);
  });
}
