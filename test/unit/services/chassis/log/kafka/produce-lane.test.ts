import { describe, expect, test } from 'vitest';
import {
  type PendingAppend,
  ProduceLane,
} from '../../../../../../services/chassis/log/kafka/produce-lane.ts';

type Request = { labels: string[]; finish: () => void };

function bench() {
  const requests: Request[] = [];
  const lane = new ProduceLane(
    (appends) =>
      new Promise((finish) => {
        requests.push({ labels: appends.map(({ records }) => String(records.length)), finish });
      }),
  );
  /** The number of records serves as the name of an append. */
  const push = (label: number, partition: number, bytes = 10): void => {
    const record = { key: '', headers: {}, value: null };
    const append: PendingAppend = {
      partition: { topic: 'topic', partition },
      records: Array.from({ length: label }, () => record),
      bytes,
      settle: () => undefined,
    };
    lane.push(append);
  };
  const finish = async (): Promise<void> => {
    requests.at(-1)?.finish();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lane, push, finish, sent: () => requests.map(({ labels }) => labels) };
}

describe('ProduceLane', () => {
  test('sends at once when idle, and what comes meanwhile together', async () => {
    const { push, finish, sent } = bench();
    push(1, 0);
    push(2, 1);
    push(3, 2);
    expect(sent()).toEqual([['1']]);
    await finish();
    expect(sent()).toEqual([['1'], ['2', '3']]);
  });

  test('has one append per partition in a request, in the order of arrival', async () => {
    const { push, finish, sent } = bench();
    push(1, 0);
    push(2, 0);
    push(3, 0);
    push(4, 1);
    await finish();
    await finish();
    expect(sent()).toEqual([['1'], ['2', '4'], ['3']]);
  });

  test('bounds a request in bytes, and no append overtakes its own partition', async () => {
    const { push, finish, sent } = bench();
    const large = 6 * 1024 * 1024;
    push(1, 0);
    push(2, 1, large);
    push(3, 2, large);
    push(4, 2);
    push(5, 3);
    await finish();
    await finish();
    await finish();
    expect(sent()).toEqual([['1'], ['2', '5'], ['3'], ['4']]);
  });

  test('is idle when everything has been answered', async () => {
    const { lane, push, finish } = bench();
    await lane.idle();
    push(1, 0);
    let idle = false;
    const waiting = lane.idle().then(() => {
      idle = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(idle).toBe(false);
    await finish();
    await waiting;
    expect(idle).toBe(true);
  });
});
