import { expect, test } from 'vitest';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import { Halts } from '../../../../../services/chassis/host/halts.ts';
import { MemoryCluster } from '../../../../../services/chassis/log/memory/memory-cluster.ts';
import { quietPorts } from '../../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: 'longrein.sessions.normal', partition: 3 };

/** Seconds between the looks at a partition that stops again with the same error each time. */
async function waits(error: LongreinError, looks: number): Promise<readonly number[]> {
  const clock = new VirtualClock();
  const lookedAtMs: number[] = [clock.nowMs()];
  const halts = new Halts(quietPorts(new MemoryCluster().connect('one'), clock), () => {
    lookedAtMs.push(clock.nowMs());
    halts.add(at, error);
  });
  halts.add(at, error);
  await clock.run(600_000, () => lookedAtMs.length > looks);
  halts.stop();
  return lookedAtMs.slice(1).map((ms, index) => (ms - (lookedAtMs[index] ?? 0)) / 1_000);
}

test('what a person has to mend is looked at less and less often', async () => {
  const gap = new LongreinError('LOG_GAP', 'records are missing');
  expect(await waits(gap, 7)).toEqual([2, 4, 8, 16, 32, 60, 60]);
});

test('what comes back by itself is looked at often: work waits for it', async () => {
  const away = new LongreinError('BROKER_UNREACHABLE', 'nobody answers', { retryable: true });
  expect(await waits(away, 4)).toEqual([2, 4, 4, 4]);
});
