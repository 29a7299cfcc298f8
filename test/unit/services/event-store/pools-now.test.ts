import { expect, test, vi } from 'vitest';
import { Figures } from '../../../../services/chassis/telemetry/figures.ts';
import { metrics } from '../../../../services/chassis/telemetry/metrics.ts';
import { quietLogger } from '../../../../services/chassis/telemetry/quiet-logger.ts';
import { measurePools, type PoolNow } from '../../../../services/event-store/pools-now.ts';
import { valuesOf } from '../../../support/metric-values.ts';

const busy: PoolNow = { pool: 'research', pending: 3, waiting: 2, running: 1, oldestMs: 1_500 };

/** Metrics of pools whose answers are these, one after another; a reading is what a scrape gets. */
function measured(answers: (readonly PoolNow[] | Error)[]) {
  const figures = new Figures();
  let asked = 0;
  measurePools({ figures, logger: quietLogger }, async () => {
    const answer = answers[asked] ?? [];
    asked += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const read = () => valuesOf([figures.meter], metrics.poolPending);
  return { figures, asked: () => asked, read };
}

test('pools are asked for when somebody reads, and not again for each of the metrics', async () => {
  const { figures, asked, read } = measured([[busy]]);
  expect(asked()).toBe(0);
  expect(read()).toEqual({});
  await vi.waitFor(() => expect(read()).toEqual({ research: 3 }));
  expect(valuesOf([figures.meter], metrics.poolOldest)).toEqual({ research: 1.5 });
  expect(asked()).toBe(1);
});

test('a pool that has nothing to do any more says 0, and no answer is no figure', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { read } = measured([[busy], [], new Error('ClickHouse is away')]);
  read();
  await vi.waitFor(() => expect(read()).toEqual({ research: 3 }));
  vi.advanceTimersByTime(20_000);
  await vi.waitFor(() => expect(read()).toEqual({ research: 0 }));
  vi.advanceTimersByTime(20_000);
  await vi.waitFor(() => expect(read()).toEqual({}));
  vi.useRealTimers();
});
