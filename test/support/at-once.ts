import type { MemoryWorld, Published } from './memory-world.ts';
import { WorldProof } from './world-proof.ts';

/** The most tasks that ran at the same time, by tenant and in `all`, as the logs of the sessions say. */
export async function mostAtOnce(
  world: MemoryWorld,
  published: readonly Published[],
): Promise<Readonly<Record<string, number>>> {
  const moves: { atMs: number; by: number; tenant: string }[] = [];
  for (const goal of published) {
    const proof = await WorldProof.of(world, goal);
    const { tenant } = proof.judged.core.meta;
    // The parent of a fan-out is no task of a pool.
    for (const { atMs } of proof.all('task.scheduled')) moves.push({ atMs, by: 1, tenant });
    for (const { atMs, data } of proof.all('task.completed'))
      if (data.agent !== 'supervisor') moves.push({ atMs, by: -1, tenant });
  }
  moves.sort((one, other) => one.atMs - other.atMs || one.by - other.by);
  const most: Record<string, number> = {};
  const now: Record<string, number> = {};
  for (const { by, tenant } of moves)
    for (const name of ['all', tenant]) {
      now[name] = (now[name] ?? 0) + by;
      most[name] = Math.max(most[name] ?? 0, now[name]);
    }
  return most;
}
