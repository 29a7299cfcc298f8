import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import type { Heartbeat, Silence } from '../../../../../services/chassis/host/presence.ts';
import { expectedBy } from '../../../../../services/chassis/host/read-ahead.ts';

const topic = 'longrein.sessions.normal';

function said(
  host: string,
  numbers: readonly number[],
  fields: Partial<Heartbeat> = {},
): Heartbeat {
  const partitions = Object.fromEntries(numbers.map((one) => [`${topic}/${one}`, { planner: 1 }]));
  const own = { incarnation: `inc-${host}`, host, services: ['planner', 'supervisor'] };
  return { ...own, partitions, release: '0.0.0-test', atMs: 0, ...fields };
}

const heard = (...args: Parameters<typeof said>): Silence => ({ beat: said(...args), silentMs: 0 });
const silentFor = (silentMs: number, ...args: Parameters<typeof said>): Silence => ({
  beat: said(...args),
  silentMs,
});
const silentMs = limits.silenceMs + 1;

function expected(host: string, instances: readonly Silence[], count: number | undefined = 6) {
  const group = { incarnation: `inc-${host}`, topics: [topic], partitionCount: () => count };
  return expectedBy(group, instances).map(({ partition }) => partition);
}

describe('partitions of a silent host', () => {
  test('are expected by the only one that is left', () => {
    const all = [heard('a', [0, 1, 2]), silentFor(silentMs, 'b', [3, 4, 5])];
    expect(expected('a', all)).toEqual([3, 4, 5]);
  });

  test('are expected by one of those that are left each, as the group will give them', () => {
    const all = [heard('a', [0, 1]), heard('c', [4, 5]), silentFor(silentMs, 'b', [2, 3])];
    expect(expected('a', all)).toEqual([2]);
    expect(expected('c', all)).toEqual([3]);
  });

  test('are expected where they stand still, too', () => {
    const halt = { code: 'LOG_GAP', message: 'gap', fix: 'none', sinceMs: 0 };
    const halted = { halted: { [`${topic}/2`]: halt } };
    const all = [heard('a', [0, 1]), silentFor(silentMs, 'b', [], halted)];
    expect(expected('a', all, 3)).toEqual([2]);
  });

  test('are not expected before it has been silent for long enough, nor for ever', () => {
    const others = [heard('a', [0, 1, 2])];
    for (const ms of [0, limits.silenceMs, 12 * limits.presenceMs + 1])
      expect(expected('a', [...others, silentFor(ms, 'b', [3, 4, 5])])).toEqual([]);
  });

  test('are not expected any more once another one has them', () => {
    const all = [heard('a', [0, 1, 2]), heard('c', [3, 4, 5]), silentFor(silentMs, 'b', [3, 4])];
    expect(expected('a', all)).toEqual([]);
  });

  test('are no concern of another group, nor of who does not hear itself', () => {
    const silent = silentFor(silentMs, 'b', [3, 4, 5]);
    expect(expected('a', [heard('a', [0], { services: ['planner'] }), silent])).toEqual([]);
    expect(expected('a', [silent])).toEqual([]);
  });

  test('of a topic that is not known yet wait for the group', () => {
    const all = [heard('a', [0, 1, 2]), silentFor(silentMs, 'b', [3, 4, 5])];
    const group = { incarnation: 'inc-a', topics: [topic], partitionCount: () => undefined };
    expect(expectedBy(group, all)).toEqual([]);
  });
});
