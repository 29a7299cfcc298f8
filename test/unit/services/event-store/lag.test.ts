import { expect, test } from 'vitest';
import { goalsTopic, sessionTopic } from '../../../../schemas/topics.ts';
import { Figures } from '../../../../services/chassis/telemetry/figures.ts';
import { metrics } from '../../../../services/chassis/telemetry/metrics.ts';
import {
  measureStore,
  RetentionAlarm,
  type SourceLag,
  storeHealth,
} from '../../../../services/event-store/lag.ts';
import { valuesOf } from '../../../support/metric-values.ts';
import { keepingLogger, quietPorts } from '../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const dayMs = 86_400_000;
const lagOf = (topic: string, more: Partial<SourceLag> = {}): SourceLag => ({
  ...{ topic, partition: 0, rows: 0, next: 10, oldestMs: 0 },
  ...more,
});

test('the lag is measured by topic: records to the end, the oldest age, and the part of the retention', async () => {
  const figures = new Figures();
  const clock = new VirtualClock();
  const log = { bounds: async () => new Map([[0, { low: 0, high: 25 }]]) };
  const ports = quietPorts(log as never, clock, { figures });
  const lag = [
    lagOf(goalsTopic, { rows: 3, oldestMs: 15 * dayMs }),
    lagOf(sessionTopic('bulk'), { oldestMs: 2_000, problem: 'gone' }),
  ];
  const stop = measureStore(ports, () => lag);
  await clock.run(100);
  const values = (metric: (typeof metrics)[keyof typeof metrics]) =>
    valuesOf([figures.meter], metric);
  expect(values(metrics.storeLag)).toEqual({ [goalsTopic]: 15, [sessionTopic('bulk')]: 15 });
  expect(values(metrics.storeLagAge)).toEqual({
    ...{ [goalsTopic]: 15 * 86_400, [sessionTopic('bulk')]: 2 },
  });
  // Session logs forget nothing by time.
  expect(values(metrics.storeRetentionUsed)).toEqual({ [goalsTopic]: 0.5 });
  expect(values(metrics.storeTroubles)).toEqual({ '': 1 });
  stop?.();
});

test('half of the retention is an alarm with what to do, said once an hour', () => {
  const clock = new VirtualClock();
  const logger = keepingLogger();
  const alarm = new RetentionAlarm({ clock, logger });
  alarm.look([lagOf(goalsTopic, { oldestMs: 14 * dayMs })]);
  expect(logger.lines).toEqual([]);
  const late = [lagOf(goalsTopic, { oldestMs: 16 * dayMs })];
  alarm.look(late);
  alarm.look(late);
  expect(logger.lines).toMatchObject([
    { level: 'error', fields: { code: 'STORE_NEARS_RETENTION', topic: goalsTopic } },
  ]);
});

test('health says what stands still and what waits', () => {
  expect(storeHealth([lagOf(goalsTopic)], undefined)).toEqual({ reasons: [], notes: [] });
  const away = storeHealth([lagOf(goalsTopic, { rows: 7, oldestMs: 61_000 })], 'no answer');
  expect(away).toEqual({
    reasons: ['ClickHouse is not ready: no answer'],
    notes: ['7 rows wait to be stored, the oldest for 61 s'],
  });
  const stopped = storeHealth([lagOf(goalsTopic, { problem: 'it was made again' })], undefined);
  expect(stopped.reasons).toEqual([`${goalsTopic}/0 is not stored (it was made again)`]);
});
