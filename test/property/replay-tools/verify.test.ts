import { expect, test } from 'vitest';
import { reportLines } from '../../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../../replay-tools/verify/verify.ts';
import { sinksTopic } from '../../../schemas/topics.ts';
import type { MemoryFaults } from '../../../services/chassis/log/memory/memory-cluster.ts';
import type { FakeTool } from '../../support/memory-effects.ts';
import type { FakeModel } from '../../support/memory-models.ts';
import { MemoryWorld } from '../../support/memory-world.ts';
import { seededNumbers } from '../../support/quiet-ports.ts';
import { recordsOf, sourceFromWorld } from '../../support/world-session.ts';

/**
 * Worlds in which answers of the broker are lost or late, hosts crash and stop, tools and models fail: whatever a session
 * went through, it is decided the same again.
 */

const shapes: readonly (readonly (readonly string[])[])[] = [
  [['all']],
  [['all'], ['all'], ['event-store']],
  [
    ['intake', 'planner', 'supervisor'],
    ['worker-pool', 'tool-guard'],
    ['model-gateway', 'tool-runner', 'sandbox-executor', 'aggregator'],
  ],
];
const plans = ['echo', 'flaky', 'ask', 'hurry', 'count', 'none'];
const toolNames = ['test.echo', 'test.absent', 'test.count'];

type Draw = () => number;
const upTo = (draw: Draw, max: number): number => Math.floor(draw() * max);
const oneOf = <T>(draw: Draw, list: readonly T[]): T => list[upTo(draw, list.length)] as T;

/** Only session logs and results: elsewhere a host waits or ends. */
const faults = (draw: Draw): MemoryFaults => ({
  append({ topic }) {
    const chance = draw();
    if (!/sessions|keys|results/.test(topic)) return 'ok';
    if (chance < 0.01) return 'lost';
    if (chance < 0.03) return 'lost-ack';
    if (chance > 0.3) return 'ok';
    const delayMs = upTo(draw, 300);
    return draw() < 0.3 ? { delayMs, timeoutMs: 50 } : { delayMs };
  },
});

const tools = (draw: Draw): Record<string, FakeTool> => ({
  'test.flaky': () => {
    if (draw() < 0.3) return { failure: {} };
    if (draw() < 0.1) return { unknown: 'Nobody saw it.' };
    return { afterMs: 300, result: { name: 'it' } };
  },
  'test.echo': ({ arguments: given }) => {
    const said = draw() < 0.3 ? 'y'.repeat(50_000) : 'y';
    return { afterMs: 500, result: { given, said } };
  },
});

const model =
  (draw: Draw): FakeModel =>
  (_request, count) => {
    if (draw() < 0.2) return { failure: { code: 'AWAY', retryable: draw() < 0.7 } };
    if (draw() < 0.4) return { text: 'Done.' };
    const calls = [{ name: oneOf(draw, toolNames), arguments: { count } }];
    return { afterMs: 200, text: '', calls };
  };

function publishGoals(world: MemoryWorld, draw: Draw): void {
  for (let count = 0; count < 8; count++) {
    const key = draw() < 0.3 ? { key: 'one' } : {};
    const timeout = draw() < 0.2 ? { timeoutMs: 1_500 } : {};
    world.publishGoal({ goal: `Goal ${count}.`, plan: oneOf(draw, plans), ...key, ...timeout });
  }
}

async function disturb(world: MemoryWorld, draw: Draw): Promise<void> {
  const shape = world.hosts.map(({ names }) => names);
  for (let round = 0; round < 4; round++) {
    await world.clock.run(upTo(draw, 1_500));
    if (draw() < 0.3) world.publishCancel(`goal-${1 + upTo(draw, 8)}`);
    const at = upTo(draw, world.hosts.length);
    const { name, names } = world.hosts[at] ?? { name: '', names: shape[0] ?? [] };
    if (draw() < 0.5) world.crash(name);
    else await world.stopHost(name);
    await world.startHost(`${name}'`, names);
  }
}

test.each([1, 2, 3, 4, 5, 6])(
  'every session of world %i is decided the same again',
  async (seed) => {
    const draw = seededNumbers(seed * 77);
    const world = await MemoryWorld.start({
      seed,
      hosts: shapes[seed % shapes.length] ?? [['all']],
      faults: faults(draw),
      tools: tools(draw),
      model: model(draw),
      housekeepingMs: 150,
      crashNoticedMs: 500,
    });
    publishGoals(world, draw);
    await disturb(world, draw);
    expect(await world.runUntilDone()).toBe(true);
    const records = [...world.records(), ...world.records(sinksTopic)];
    const sessions = new Set(records.map(({ headers }) => headers['ce_subject'] ?? ''));
    sessions.delete('');
    let turns = 0;
    for (const session of sessions) {
      const source = await sourceFromWorld(world, session);
      const report = await verifySession(source);
      expect(reportLines(report).filter((line) => line.startsWith('!'))).toEqual([]);
      expect(report).toMatchObject({ identical: true, complete: true });
      turns += (await recordsOf(source)).filter(({ body }) => body?.kind === 'turn').length;
    }
    expect(turns).toBeGreaterThan(20);
  },
);
