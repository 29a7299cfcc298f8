/**
 * Counters, gauges and histograms of one process, as plain numbers: counting is an addition to a cell that is there
 * already. What reads them (`prometheus-text.ts`, `otlp-metrics.ts`) takes a snapshot.
 */

export type MetricKind = 'counter' | 'gauge' | 'histogram';

/** What a metric is. `unit` is a UCUM unit, as OpenTelemetry writes it; counts of things stand in braces. */
export type Metric = Readonly<{
  name: string;
  kind: MetricKind;
  unit: 's' | 'By' | 'USD' | '1' | `{${string}}`;
  about: string;
  /** Names of at most two attributes. Their values must be few: names of the catalog, states, topics. */
  labels: readonly string[];
  /** Upper bounds of a histogram's buckets, in its unit. */
  bounds?: readonly number[];
}>;

export type Sample = Readonly<{ labels: readonly string[]; value: number }>;
export type Distribution = Readonly<{
  labels: readonly string[];
  /** One for each bound, and one for what is above all of them. */
  counts: readonly number[];
  sum: number;
  count: number;
}>;
export type Family = Readonly<{
  metric: Metric;
  samples: readonly Sample[];
  distributions: readonly Distribution[];
}>;

export type Counter = Readonly<{ add(amount: number, first?: string, second?: string): void }>;
export type Histogram = Readonly<{ observe(value: number, first?: string, second?: string): void }>;

/** Series of one metric. What comes beyond them is counted under `other`: names that grow without end cost nothing. */
export const seriesMax = 200;
const other = 'other';

/** A cell for each pair of label values; looking one up makes nothing. */
class Cells<C> {
  private readonly byFirst = new Map<string, Map<string, C>>();
  private readonly make: () => C;
  private size = 0;

  constructor(make: () => C) {
    this.make = make;
  }

  of(first: string, second: string): C {
    return this.byFirst.get(first)?.get(second) ?? this.add(first, second);
  }

  private add(first: string, second: string): C {
    if (this.size >= seriesMax && first !== other)
      return this.of(other, second === '' ? '' : other);
    const row = this.byFirst.get(first) ?? new Map<string, C>();
    const cell = this.make();
    this.byFirst.set(first, row);
    row.set(second, cell);
    this.size += 1;
    return cell;
  }

  all(labels: number): readonly (readonly [readonly string[], C])[] {
    return [...this.byFirst].flatMap(([first, row]) =>
      [...row].map(([second, cell]) => [[first, second].slice(0, labels), cell] as const),
    );
  }
}

type Source = () => Family;
type Spread = { readonly counts: number[]; sum: number; count: number };

/** The metrics of a process. One metric is asked for once. */
export class Meter {
  private readonly sources: Source[] = [];

  counter(metric: Metric): Counter {
    const cells = new Cells(() => ({ value: 0 }));
    // Without labels there is one series, and it stands at 0 before anything was counted.
    if (metric.labels.length === 0) cells.of('', '');
    this.sources.push(() => {
      const all = cells.all(metric.labels.length);
      const samples = all.map(([labels, { value }]) => ({ labels, value }));
      return { metric, samples, distributions: [] };
    });
    return {
      add(amount, first = '', second = '') {
        cells.of(first, second).value += amount;
      },
    };
  }

  histogram(metric: Metric): Histogram {
    const bounds = metric.bounds ?? [];
    const cells = new Cells<Spread>(() => ({
      counts: Array.from({ length: bounds.length + 1 }, () => 0),
      sum: 0,
      count: 0,
    }));
    this.sources.push(() => {
      const all = cells.all(metric.labels.length);
      const distributions = all.map(([labels, { counts, sum, count }]) => ({
        ...{ labels, sum, count },
        counts: [...counts],
      }));
      return { metric, samples: [], distributions };
    });
    return {
      observe(value, first = '', second = '') {
        const cell = cells.of(first, second);
        let bucket = 0;
        while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
        cell.counts[bucket] = (cell.counts[bucket] ?? 0) + 1;
        cell.sum += value;
        cell.count += 1;
      },
    };
  }

  /** Read when somebody asks; must be quick and must not throw. */
  gauge(metric: Metric, read: () => readonly Sample[]): void {
    this.sources.push(() => ({ metric, samples: read(), distributions: [] }));
  }

  collect(): readonly Family[] {
    return this.sources.map((source) => source());
  }
}
