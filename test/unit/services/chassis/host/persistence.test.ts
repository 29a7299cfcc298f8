import { expect, test } from 'vitest';
import { persist, refusedForNow } from '../../../../../services/chassis/host/persistence.ts';
import { AppendError } from '../../../../../services/chassis/log/append-error.ts';
import type { Refusal } from '../../../../../services/chassis/log/port.ts';
import { keepingLogger } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

/** Refuses so often, then takes. */
function bench(refusals: number, refusal: Refusal = 'not-allowed') {
  const clock = new VirtualClock(0);
  const logger = keepingLogger();
  const sentAtMs: number[] = [];
  const told: string[] = [];
  const want = { still: true };
  persist(
    { clock, logger },
    {
      what: 'an outcome',
      fields: { call: 'c1' },
      wanted: () => want.still,
      push: ({ appended, refused }) => {
        sentAtMs.push(clock.nowMs());
        if (sentAtMs.length > refusals) appended();
        else refused(new AppendError(refusal, 'no'));
      },
      onTaken: () => told.push('taken'),
      onHopeless: ({ refusal: why }) => told.push(String(why)),
      onGivenUp: () => told.push('given up'),
    },
  );
  return { clock, logger, sentAtMs, told, want };
}

test('what may be taken later is sent again, less and less often, with an alarm each time', async () => {
  const { clock, logger, sentAtMs, told } = bench(9);
  await clock.run(600_000);
  expect(told).toEqual(['taken']);
  const waits = sentAtMs.slice(1).map((atMs, index) => atMs - (sentAtMs[index] ?? 0));
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect(logger.lines).toHaveLength(9);
  expect(logger.lines[0]).toMatchObject({
    level: 'error',
    message: refusedForNow,
    fields: { call: 'c1', what: 'an outcome' },
  });
});

test.each(['too-large', 'invalid'] as const)('what is %s is sent once', async (refusal) => {
  const { clock, logger, sentAtMs, told } = bench(9, refusal);
  await clock.run(600_000);
  expect([sentAtMs.length, told, logger.lines]).toEqual([1, [refusal], []]);
});

test('what is wanted no more is given up before it is sent again', async () => {
  const { clock, sentAtMs, told, want } = bench(9);
  want.still = false;
  await clock.run(600_000);
  expect([sentAtMs.length, told]).toEqual([1, ['given up']]);
});
