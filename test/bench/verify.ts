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
 * the session, every decision made again. By processor time of this thread: it says the same on a busy machine.
 */

const modelSteps = 100;
const rounds = 12;

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

/** Events that are verified in a second of processor time, without and with reading the file. */
export async function verifying(): Promise<void> {
  const text = await recordedLoop();
  const source = await parseExport([text], 'bench');
  const events = await verifyOnce(source);
  for (let warm = 0; warm < rounds; warm++) await verifyOnce(source);
  const startMs = spentMs();
  for (let round = 0; round < rounds; round++) await verifyOnce(source);
  const verifiedMs = spentMs();
  for (let round = 0; round < rounds; round++) await verifyOnce(await parseExport([text], 'bench'));
  const readMs = spentMs();
  const rate = (ms: number): number => (events * rounds * 1_000) / ms;
  print({
    ...{ bench: 'verify', events, bytes: text.length },
    eventsPerSecond: rate(verifiedMs - startMs),
    withReadingPerSecond: rate(readMs - verifiedMs),
    msPerTenThousand: 10_000_000 / rate(verifiedMs - startMs),
  });
}
