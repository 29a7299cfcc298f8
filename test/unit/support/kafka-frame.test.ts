import { expect, it } from 'vitest';
import {
  emptyProduceAnswer,
  FrameCutter,
  isProduce,
  partitionsOfProduce,
  withoutLastPartition,
} from '../../torture/kafka-frame.ts';

const short = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const long = (value: number): Buffer => Buffer.from([0, 0, value >> 8, value & 255]);
const text = (value: string): Buffer => Buffer.concat([short(value.length), Buffer.from(value)]);

type Topics = Readonly<Record<string, Readonly<Record<number, string>>>>;

/** A produce request of version 7, with these records by topic and partition. */
function produce(topics: Topics): Buffer {
  const body = Buffer.concat([
    ...[short(0), short(7), long(42), text('client')],
    ...[Buffer.from([255, 255]), Buffer.from([255, 255]), long(1_000)],
    long(Object.keys(topics).length),
    ...Object.entries(topics).flatMap(([name, parts]) => [
      ...[text(name), long(Object.keys(parts).length)],
      ...Object.entries(parts).flatMap(([partition, records]) => [
        ...[long(Number(partition)), long(records.length), Buffer.from(records)],
      ]),
    ]),
  ]);
  return Buffer.concat([long(body.length), body]);
}

it('cuts a stream into frames, however it is cut itself', () => {
  const frames = [produce({ a: { 0: 'x' } }), produce({ b: { 1: 'yy' } })];
  const stream = Buffer.concat(frames);
  const cutter = new FrameCutter();
  const found = [...stream].flatMap((byte) => cutter.push(Buffer.from([byte])));
  expect(found.map((frame) => frame.equals(frames[found.indexOf(frame)] ?? frame))).toEqual([
    true,
    true,
  ]);
});

it('names the partitions of a produce request', () => {
  const request = produce({ a: { 0: 'one', 3: 'four' }, b: { 2: 'three' } });
  expect(isProduce(request)).toBe(true);
  expect(partitionsOfProduce(request)).toEqual(['a/0', 'a/3', 'b/2']);
});

it('leaves out the last partition, with its topic where that is empty then', () => {
  const all = { a: { 0: 'one', 3: 'four' }, b: { 2: 'three' } };
  const less = withoutLastPartition(produce(all));
  expect(less?.equals(produce({ a: all.a }))).toBe(true);
  expect(withoutLastPartition(produce({ a: all.a }))?.equals(produce({ a: { 0: 'one' } }))).toBe(
    true,
  );
  expect(withoutLastPartition(produce({ a: { 0: 'one' } }))).toBeUndefined();
});

it('answers a request of which nothing is left as a broker would', () => {
  const answer = emptyProduceAnswer(produce({ a: { 0: 'one' } }));
  expect([...answer]).toEqual([...long(12), ...long(42), ...long(0), ...long(0)]);
});
