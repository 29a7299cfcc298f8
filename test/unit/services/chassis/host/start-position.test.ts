import { describe, expect, test } from 'vitest';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import type { HostedService } from '../../../../../services/chassis/host/ports.ts';
import { startOf } from '../../../../../services/chassis/host/start-position.ts';
import type { Trim, Watermark } from '../../../../../services/chassis/host/watermark-records.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const services = ['planner', 'supervisor'].map(
  (name) => ({ logic: { name }, topics: [at.topic] }) as unknown as HostedService,
);

type Given = Readonly<{ low?: number; high?: number; trim?: number }>;

function start(given: Readonly<Record<string, number>>, { low = 0, high = 100, trim }: Given = {}) {
  const acceptanceOf = (name: string, sequence: number) => ({
    [name]: { number: 1, incarnation: 'one', sequence },
  });
  const of = (service: string): Watermark | undefined => {
    const offset = given[service];
    if (offset === undefined) return undefined;
    return { ...at, service, offset, acceptance: acceptanceOf(service, offset) };
  };
  const trimAt = (): Trim | undefined =>
    trim === undefined
      ? undefined
      : { ...at, offset: trim, acceptance: acceptanceOf('trimmed', trim), atMs: 1 };
  return startOf({ services, watermarks: { of, trimAt } }, at, { low, high });
}

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (thrown) {
    return thrown instanceof LongreinError ? `${thrown.code} ${thrown.fix}` : String(thrown);
  }
  return 'nothing thrown';
};

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

describe('a trim', () => {
  test('is where a service starts whose mark is below it, or that has none', () => {
    const below = start({ planner: 40, supervisor: 10 }, { low: 25, trim: 25 });
    expect([below.offset, Object.keys(below.acceptance)]).toEqual([25, ['trimmed']]);
    expect([...below.marks.values()]).toEqual([40, 25]);
    const without = start({ planner: 40 }, { low: 25, trim: 25 });
    expect([without.offset, Object.keys(without.acceptance)]).toEqual([25, ['trimmed']]);
  });

  test('moves nobody whose mark is above, and counts before its records are deleted', () => {
    expect(start({ planner: 40, supervisor: 30 }, { low: 25, trim: 25 }).offset).toBe(30);
    expect(start({ planner: 40, supervisor: 10 }, { low: 0, trim: 25 }).offset).toBe(25);
  });
});

describe('a log that does not hold what is needed', () => {
  test('stops the partition and names the command: nothing is reset silently', () => {
    const command = 'longrein topics reset longrein.sessions.normal --partition 0';
    const marks = { planner: 40, supervisor: 30 };
    const deleted = codeOf(() => start(marks, { low: 35 }));
    expect(deleted).toMatch(/^LOG_TRUNCATED /);
    expect(deleted).toContain(command);
    expect(codeOf(() => start(marks, { low: 35, trim: 20 }))).toMatch(/^LOG_TRUNCATED /);
    const shorter = codeOf(() => start(marks, { high: 20 }));
    expect(shorter).toMatch(/^LOG_SHORTER /);
    expect(shorter).toContain(command);
  });

  test('also where a service never had a mark, and nothing says what stood below', () => {
    expect(codeOf(() => start({}, { low: 5 }))).toMatch(/^LOG_TRUNCATED /);
  });

  test('is none where a mark stands at one of its ends', () => {
    expect(start({ planner: 100, supervisor: 100 }).offset).toBe(100);
    expect(start({ planner: 35, supervisor: 35 }, { low: 35, high: 35 }).offset).toBe(35);
  });
});
