import { expect, it } from 'vitest';
import type { WireBroker } from '../../../../../../services/chassis/log/kafka/internals.ts';
import { RequestsOnTheWay } from '../../../../../../services/chassis/log/kafka/requests.ts';

const broker = {} as WireBroker;
const never = (): Promise<string> => new Promise(() => undefined);

it('gives back what the broker says', async () => {
  const requests = new RequestsOnTheWay();
  expect(await requests.track(broker, async () => 'said')).toBe('said');
});

it('ends a request that nobody will answer when its broker is given up', async () => {
  const requests = new RequestsOnTheWay();
  const other = {} as WireBroker;
  const waiting = requests.track(broker, never);
  const beside = requests.track(other, async () => 'said');
  requests.fail(broker, new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect(await beside).toBe('said');
});

it('refuses a request to a broker that has been given up, and asks nothing', async () => {
  const requests = new RequestsOnTheWay();
  requests.fail(broker, new Error('gone'));
  let asked = 0;
  const late = requests.track(broker, async () => {
    asked += 1;
  });
  await expect(late).rejects.toThrow('gone');
  expect(asked).toBe(0);
});
