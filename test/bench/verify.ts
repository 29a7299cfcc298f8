import { join } from 'node:path';
import { parseExport } from '../../replay-tools/read/file.ts';
import type { SessionSource } from '../../replay-tools/read/source.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { requireCatalog } from '../../services/chassis/catalog/load.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { exportFromWorld } from '../support/world-session.ts';
import { print } from './figures.ts';

/**
 * `replay verify` of a model loop that a world in memory recorded: every event folded by every service that decided in
 * the session, every decision made again. By processor time of this process, round by round: what else a machine does
 * makes rounds slower and none faster, so the least of them says the most.
 */

const modelSteps = 100;
const rounds = 30;

const words = 'Reins in hand, eyes ahead. ';

const catalog = ['deploy/examples', 'test/fixtures/bench'];

/** An export of a session whose model asks for a tool a hundred times and then answers. */
async function recordedLoop(): Promise<string> {
  const world = await MemoryWorld.start({
    seed: 41,
    catalog: requireCatalog(catalog.map((path) => join(packageRoot, path))),
    tools: { 'bench.echo': ({ arguments: given }) => ({ afterMs: 20, result: given }) },
    model: (_request, count) => {
      if (count > modelSteps) return { text: '"done"' };
      const pad = words.repeat(1 + (count % 12));
      return { text: words, calls: [{ name: 'bench.echo', arguments: { at: count, pad } }] };
    },
  });
  const inputs = { steps: modelSteps };
  const { session } = world.publishGoal({ goal: 'Walk.', plan: 'walk', inputs });
  await world.runUntilDone();
  return exportFromWorld(world, session);
}

const spentMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

async function verifyOnce(source: SessionSource): Promise<number> {
  const { identical, complete, counts, differences } = await verifySession(source);
  if (!identical || !complete)
    throw new Error(`the session was not proved: ${JSON.stringify(differences[0])}`);
  return counts.events;
}

/** Processor time of each round, the least first. */
async function timed(round: () => Promise<unknown>): Promise<readonly number[]> {
  const spent: number[] = [];
  for (let done = 0; done < rounds; done++) {
    const startMs = spentMs();
    await round();
    spent.push(spentMs() - startMs);
  }
  return spent.toSorted((a, b) => a - b);
}

/** Events that are verified in a second of processor time, without and with reading the file. */
export async function verifying(): Promise<void> {
  const text = await recordedLoop();
  const source = await parseExport([text], 'bench');
  const events = await verifyOnce(source);
  await timed(() => verifyOnce(source));
  const verified = await timed(() => verifyOnce(source));
  const read = await timed(async () => verifyOnce(await parseExport([text], 'bench')));
  const [least, median] = [0, rounds >> 1];
  const rate = (all: readonly number[], at: number): number => (events * 1_000) / (all[at] ?? 0);
  print({
    ...{ bench: 'verify', events, bytes: text.length },
    eventsPerSecond: rate(verified, least),
    eventsPerSecondMedian: rate(verified, median),
    withReadingPerSecond: rate(read, least),
    withReadingPerSecondMedian: rate(read, median),
  });
}
