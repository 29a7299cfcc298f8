import { afterEach, expect, it, vi } from 'vitest';
import type { WireBroker } from '../../../../../../services/chassis/log/kafka/internals.ts';
import { RequestsOnTheWay } from '../../../../../../services/chassis/log/kafka/requests.ts';

const broker = {} as WireBroker;
afterEach(() => {
  vi.useRealTimers();
});

const never = (): Promise<string> => new Promise(() => undefined);

it('gives back what the broker says', async () => {
  const requests = new RequestsOnTheWay(15_000);
  expect(await requests.track(broker, async () => 'said')).toBe('said');
});

it('ends a request that nobody will answer when its broker is given up', async () => {
  const requests = new RequestsOnTheWay(15_000);
  const other = {} as WireBroker;
  const waiting = requests.track(broker, never);
  const beside = requests.track(other, async () => 'said');
  requests.fail(broker, new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect(await beside).toBe('said');
});

it('refuses a request to a broker that has been given up, and asks nothing', async () => {
  const requests = new RequestsOnTheWay(15_000);
  requests.fail(broker, new Error('gone'));
  let asked = 0;
  const late = requests.track(broker, async () => {
    asked += 1;
  });
  await expect(late).rejects.toThrow('gone');
  expect(asked).toBe(0);
});

it('ends a request when its time is over, and lets those that may take longer go on', async () => {
  vi.useFakeTimers();
  const requests = new RequestsOnTheWay(15_000);
  let longer = 'waits';
  const late = requests.track(broker, never);
  requests.track(broker, never, 35_000).catch(() => {
    longer = 'ended';
  });
  const refused = expect(late).rejects.toMatchObject({
    code: 'BROKER_CONNECTION_LOST',
    message: 'no answer within 15000 ms',
  });
  await vi.advanceTimersByTimeAsync(16_000);
  await refused;
  expect(longer).toBe('waits');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(longer).toBe('ended');
});

it('looks at nothing once nothing waits', async () => {
  vi.useFakeTimers();
  const requests = new RequestsOnTheWay(15_000);
  await requests.track(broker, async () => 'said');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vi.getTimerCount()).toBe(0);
});
