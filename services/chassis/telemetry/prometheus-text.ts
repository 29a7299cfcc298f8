import type { Distribution, Family, Metric } from './meter.ts';

/** The text format of Prometheus, version 0.0.4. */

export const prometheusMediaType = 'text/plain; version=0.0.4; charset=utf-8';

const unitSuffix: Readonly<Record<string, string>> = {
  s: '_seconds',
  By: '_bytes',
  USD: '_usd',
  '1': '_ratio',
};

const plain = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_:]/g, '_');

/** The name of a metric in Prometheus, by the rules that OpenTelemetry's own exporter follows. */
export function prometheusName({ name, unit, kind }: Metric): string {
  const total = kind === 'counter' ? '_total' : '';
  return `${plain(name)}${unitSuffix[unit] ?? ''}${total}`;
}

export const prometheusLabel = plain;

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

function labelText(metric: Metric, values: readonly string[], bound?: string): string {
  const pairs = metric.labels.map((name, at) => `${plain(name)}="${escaped(values[at] ?? '')}"`);
  if (bound !== undefined) pairs.push(`le="${bound}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function distributionLines(metric: Metric, name: string, one: Distribution): string[] {
  let below = 0;
  const buckets = one.counts.map((count, at) => {
    below += count;
    const bound = metric.bounds?.[at];
    const le = bound === undefined ? '+Inf' : String(bound);
    return `${name}_bucket${labelText(metric, one.labels, le)} ${below}`;
  });
  const labels = labelText(metric, one.labels);
  return [...buckets, `${name}_sum${labels} ${one.sum}`, `${name}_count${labels} ${one.count}`];
}

function familyLines({ metric, samples, distributions }: Family): string[] {
  const name = prometheusName(metric);
  return [
    `# HELP ${name} ${metric.about}`,
    `# TYPE ${name} ${metric.kind}`,
    ...samples.map(({ labels, value }) => `${name}${labelText(metric, labels)} ${value}`),
    ...distributions.flatMap((one) => distributionLines(metric, name, one)),
  ];
}

/** All metrics as Prometheus reads them. */
export const prometheusText = (families: readonly Family[]): string =>
  `${families.flatMap(familyLines).join('\n')}\n`;
