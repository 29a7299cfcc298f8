import { describe, expect, test } from 'vitest';
import type {
  ListedService,
  Watermark,
} from '../../../../../services/chassis/host/watermark-records.ts';
import {
  reinstate,
  retire,
  serviceRows,
} from '../../../../../services/console/cli/service-acts.ts';

const topic = 'longrein.sessions.normal';
const deed = { by: 'ann', reason: 'gone', atMs: 5 };
const bounds = new Map([
  [
    topic,
    new Map([
      [0, { low: 0, high: 100 }],
      [1, { low: 40, high: 90 }],
    ]),
  ],
]);
const listed = (service: string, more: Partial<ListedService> = {}): ListedService => ({
  ...{ service, topics: [topic], release: '1', atMs: 0 },
  ...more,
});

function known(services: readonly ListedService[], marks: readonly Watermark[] = []) {
  return {
    listed: () => services,
    at: () => marks,
    of: (service: string, name: { partition: number }) =>
      marks.find((one) => one.service === service && one.partition === name.partition),
  };
}

const mark = (service: string, partition: number, offset: number): Watermark => ({
  ...{ service, topic, partition, offset },
  acceptance: {},
});

describe('the list of services', () => {
  test('says where each holds most', () => {
    const marks = [mark('planner', 0, 99), mark('planner', 1, 50), mark('pool', 0, 95)];
    const rows = serviceRows(known([listed('pool'), listed('planner')], marks), bounds);
    expect(rows.map(({ service, behindMax, where }) => [service, behindMax, where])).toEqual([
      ['planner', 40, `${topic}/1`],
      ['pool', 50, `${topic}/1`],
    ]);
  });
});

describe('a service that is retired', () => {
  test('goes with its marks, and who did it and why stays', () => {
    const entries = retire(known([listed('pool')], [mark('pool', 1, 50)]), 'pool', {
      ...{ deed, bounds, runningOn: [] },
    });
    expect(entries).toEqual([
      { key: 'service/pool', value: { ...listed('pool'), retired: deed } },
      { key: `mark/pool/${topic}/1`, value: undefined },
    ]);
  });

  test('may be one that only an older release knew, by its marks', () => {
    const at = { deed, bounds, runningOn: [] };
    const [entry] = retire(known([], [mark('pool', 1, 50)]), 'pool', at);
    expect(entry?.value).toMatchObject({ service: 'pool', topics: [topic], retired: deed });
  });

  test('is neither one that runs nor one that nobody knows', () => {
    const running = { deed, bounds, runningOn: ['host-1'] };
    expect(() => retire(known([listed('pool')]), 'pool', running)).toThrow('pool runs on host-1');
    const idle = { ...running, runningOn: [] };
    expect(() => retire(known([listed('planner')]), 'plannre', idle)).toThrow(
      expect.objectContaining({
        code: 'SERVICE_UNKNOWN',
        fix: expect.stringContaining('did you mean planner?') as string,
      }) as Error,
    );
  });

  test('may be taken back, once', () => {
    const services = known([listed('pool', { retired: deed }), listed('planner')]);
    const back = { by: 'ben', reason: 'by mistake', atMs: 9 };
    expect(reinstate(services, 'pool', back)).toEqual([
      { key: 'service/pool', value: { ...listed('pool'), reinstated: back } },
    ]);
    expect(() => reinstate(services, 'planner', back)).toThrow('no service planner');
  });
});
