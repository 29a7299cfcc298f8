import type { Meter, Metric } from '../../services/chassis/telemetry/meter.ts';

/** The sum of a metric's series over processes, by their labels (`a,b`); counts of observations for a histogram. */
export function valuesOf(
  meters: readonly Pick<Meter, 'collect'>[],
  metric: Metric,
): Record<string, number> {
  const values: Record<string, number> = {};
  for (const family of meters.flatMap((meter) => meter.collect())) {
    if (family.metric.name !== metric.name) continue;
    const all = [
      ...family.samples,
      ...family.distributions.map(({ labels, count }) => ({ labels, value: count })),
    ];
    for (const { labels, value } of all)
      values[labels.join()] = (values[labels.join()] ?? 0) + value;
  }
  return values;
}

/** The sum over all labels. */
export const totalOf = (meters: readonly Pick<Meter, 'collect'>[], metric: Metric): number =>
  Object.values(valuesOf(meters, metric)).reduce((sum, value) => sum + value, 0);
