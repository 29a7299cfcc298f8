import type * as sdk from '@opentelemetry/sdk-node';
import type { Family, Meter } from './meter.ts';

type Sdk = typeof sdk;
type Data = sdk.metrics.MetricData;
type Moment = Readonly<{ start: [number, number]; end: [number, number] }>;

const hrTime = (ms: number): [number, number] => [
  Math.floor(ms / 1_000),
  Math.round((ms % 1_000) * 1_000_000),
];

const attributesOf = (names: readonly string[], values: readonly string[]) =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));

/** The metrics of a process as OpenTelemetry's exporters take them: sums since the start of the process. */
export function metricProducer(
  meter: Pick<Meter, 'collect'>,
  otel: Sdk,
): sdk.metrics.MetricProducer {
  const startedAtMs = Date.now();
  return {
    async collect() {
      const moment = { start: hrTime(startedAtMs), end: hrTime(Date.now()) };
      const scope = { name: 'longrein' };
      const metrics = meter.collect().map((family) => dataOf(family, moment, otel));
      // The reader puts the resource of its own in this one's place.
      const resource = otel.resources.emptyResource();
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

function dataOf(family: Family, { start, end }: Moment, otel: Sdk): Data {
  const { AggregationTemporality, DataPointType } = otel.metrics;
  const { metric, samples, distributions } = family;
  const { name, about: description, unit, labels } = metric;
  const descriptor = { name, description, unit, valueType: 1 };
  const common = {
    descriptor,
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const at = (values: readonly string[]) => ({
    ...{ startTime: start, endTime: end },
    attributes: attributesOf(labels, values),
  });
  if (metric.kind === 'histogram') {
    const boundaries = [...(metric.bounds ?? [])];
    const dataPoints = distributions.map(({ labels: values, counts, sum, count }) => ({
      ...at(values),
      value: { buckets: { boundaries, counts: [...counts] }, sum, count },
    }));
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = samples.map(({ labels: values, value }) => ({ ...at(values), value }));
  if (metric.kind === 'gauge') return { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
  return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}
