import { describe, expect, test } from 'vitest';
import type { HostedService } from '../../../../../services/chassis/host/ports.ts';
import { startOf } from '../../../../../services/chassis/host/start-position.ts';
import type { Watermark, Watermarks } from '../../../../../services/chassis/host/watermarks.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const services = ['planner', 'supervisor'].map(
  (name) => ({ logic: { name }, topics: [at.topic] }) as unknown as HostedService,
);

function start(marks: Readonly<Record<string, number>>, bounds = { low: 0, high: 100 }) {
  const of = (service: string): Watermark | undefined => {
    const offset = marks[service];
    const acceptance = { [service]: { number: 1, incarnation: 'one', sequence: offset ?? 0 } };
    return offset === undefined ? undefined : { ...at, service, offset, acceptance };
  };
  return startOf({ services, watermarks: { of } as unknown as Watermarks }, at, bounds);
}

test('it is the lowest mark, with the acceptance of that place; each service keeps its own', () => {
  const { offset, acceptance, marks } = start({ planner: 40, supervisor: 30 });
  expect(offset).toBe(30);
  expect(Object.keys(acceptance)).toEqual(['supervisor']);
  expect([...marks]).toEqual([
    ['planner', 40],
    ['supervisor', 30],
  ]);
});

test('it is the beginning where a service has no mark yet', () => {
  const { offset, acceptance, marks } = start({ planner: 40 });
  expect([offset, acceptance]).toEqual([0, {}]);
  expect([...marks]).toEqual([
    ['planner', 40],
    ['supervisor', 0],
  ]);
});

describe('a mark that the log does not hold', () => {
  test('stops the partition with what to do: nothing is reset silently', () => {
    const outside = (): unknown => start({ planner: 40, supervisor: 30 }, { low: 35, high: 100 });
    expect(outside).toThrow('the watermark 30 is outside the log [35, 100]');
    expect(() => start({ planner: 400, supervisor: 400 })).toThrow(/outside the log/);
  });

  test('may stand at both ends', () => {
    expect(start({ planner: 100, supervisor: 100 }).offset).toBe(100);
    expect(start({ planner: 35, supervisor: 35 }, { low: 35, high: 35 }).offset).toBe(35);
  });
});
