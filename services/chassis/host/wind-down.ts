import type { Partition } from './partition.ts';
import type { Clock } from './ports.ts';

type Winding = Pick<Partition, 'drain' | 'idle' | 'checkpoint'> &
  Readonly<{ effects: Pick<Partition['effects'], 'abortAll'> }>;

/**
 * Ends all work of a host by this time: running effects get half of it and are then told to stop, sessions are
 * checkpointed. What does not fit in is recovered from the log by the next host.
 */
export async function windDown(
  partitions: () => readonly Winding[],
  clock: Clock,
  deadlineMs: number,
): Promise<void> {
  const untilIdle = async (untilMs: number): Promise<void> => {
    while (clock.nowMs() < untilMs && !partitions().every(({ idle }) => idle))
      await new Promise<void>((resolve) => {
        clock.after(20, resolve);
      });
  };
  const withinMs = deadlineMs - clock.nowMs();
  for (const partition of partitions()) partition.drain();
  await untilIdle(deadlineMs - withinMs / 2);
  for (const partition of partitions()) partition.effects.abortAll();
  await untilIdle(deadlineMs - withinMs / 4);
  const untilMs = (clock.nowMs() + deadlineMs) / 2; // They have to be written as well.
  for (const partition of partitions()) partition.checkpoint(untilMs);
  await untilIdle(deadlineMs);
}
