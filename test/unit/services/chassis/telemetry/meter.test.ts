import { expect, test } from 'vitest';
import { Meter, type Metric, seriesMax } from '../../../../../services/chassis/telemetry/meter.ts';
import {
  prometheusName,
  prometheusText,
} from '../../../../../services/chassis/telemetry/prometheus-text.ts';

const counted: Metric = {
  ...{ name: 'test.things', kind: 'counter', unit: '{thing}', about: 'Things' },
  labels: ['kind.of', 'end'],
};
const took: Metric = {
  ...{ name: 'test.took', kind: 'histogram', unit: 's', about: 'Time', labels: ['what'] },
  bounds: [0.1, 1],
};

test('a counter counts by labels, and looks like one to Prometheus', () => {
  const meter = new Meter();
  const counter = meter.counter(counted);
  counter.add(2, 'a', 'x');
  counter.add(3, 'a', 'x');
  counter.add(1, 'b"\\\n', 'y');
  expect(prometheusText(meter.collect())).toBe(
    [
      '# HELP test_things_total Things',
      '# TYPE test_things_total counter',
      'test_things_total{kind_of="a",end="x"} 5',
      'test_things_total{kind_of="b\\"\\\\\\n",end="y"} 1',
      '',
    ].join('\n'),
  );
});

test('a counter without labels stands at 0 before anything is counted', () => {
  const meter = new Meter();
  meter.counter({ ...counted, labels: [] });
  expect(meter.collect()[0]?.samples).toEqual([{ labels: [], value: 0 }]);
});

test('a histogram sorts into buckets whose upper bounds belong to them, and adds up for Prometheus', () => {
  const meter = new Meter();
  const histogram = meter.histogram(took);
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value, 'call');
  const lines = prometheusText(meter.collect()).split('\n').slice(2);
  expect(lines).toEqual([
    'test_took_seconds_bucket{what="call",le="0.1"} 2',
    'test_took_seconds_bucket{what="call",le="1"} 3',
    'test_took_seconds_bucket{what="call",le="+Inf"} 4',
    'test_took_seconds_sum{what="call"} 7.65',
    'test_took_seconds_count{what="call"} 4',
    '',
  ]);
});

test('label values without end are counted as `other`: the number of series has a bound', () => {
  const meter = new Meter();
  const counter = meter.counter(counted);
  for (let index = 0; index < 10 * seriesMax; index += 1) counter.add(1, `n${index}`, 'x');
  const samples = meter.collect()[0]?.samples ?? [];
  expect(samples.length).toBe(seriesMax + 1);
  expect(samples.at(-1)).toEqual({ labels: ['other', 'other'], value: 9 * seriesMax });
});

test('a gauge is read when it is asked for', () => {
  const meter = new Meter();
  let value = 1;
  meter.gauge({ ...counted, kind: 'gauge', unit: '1', labels: [] }, () => [{ labels: [], value }]);
  value = 7;
  expect(meter.collect()[0]?.samples).toEqual([{ labels: [], value: 7 }]);
});

test.each([
  ['s', 'histogram', 'a_b_seconds'],
  ['By', 'gauge', 'a_b_bytes'],
  ['USD', 'counter', 'a_b_usd_total'],
  ['1', 'gauge', 'a_b_ratio'],
  ['{x}', 'counter', 'a_b_total'],
] as const)('a metric in %s, a %s, is called %s', (unit, kind, name) => {
  expect(prometheusName({ ...counted, name: 'a.b', unit, kind })).toBe(name);
});
