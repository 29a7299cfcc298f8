import { EventFigures, type SeenEvents } from './event-figures.ts';
import { type Counter, type Histogram, Meter } from './meter.ts';
import { metrics } from './metrics.ts';

/** What one process counts: events, takeovers, and what its services say of themselves (`meter.gauge`). */
export class Figures {
  readonly meter = new Meter();
  private readonly events = new EventFigures(this.meter);
  private readonly rehydration: Histogram = this.meter.histogram(metrics.rehydration);
  private readonly rehydrations: Counter = this.meter.counter(metrics.rehydrations);

  constructor() {
    this.meter.gauge(metrics.memory, () => [{ labels: [], value: process.memoryUsage.rss() }]);
    // A share needs both of its parts from the start.
    this.rehydrations.add(0, 'owned');
    this.rehydrations.add(0, 'failed');
  }

  /** Effective events, once for each record that a host folds. */
  saw(events: SeenEvents): void {
    this.events.saw(events);
  }

  /** A partition was read and is owned. */
  rehydrated(tookMs: number): void {
    this.rehydration.observe(Math.max(0, tookMs) / 1_000);
    this.rehydrations.add(1, 'owned');
  }

  /** A partition could not be taken over, or stopped. */
  notRehydrated(): void {
    this.rehydrations.add(1, 'failed');
  }
}
