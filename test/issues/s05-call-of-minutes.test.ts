// Source: confluent-kafka-javascript 472, handling that took minutes and a rolling deploy stalled the whole group.
import { expect, test } from 'vitest';
import { MemoryWorld } from '../support/memory-world.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

const minuteMs = 60_000;
const callMs = 5 * minuteMs;

const catalog = () =>
  catalogWith({
    'tools/test.long.yaml': `
name: test.long
version: 1.0.0
description: Takes minutes, and must not be done twice.
category: test
risk: low
sideEffects: write
idempotent: false
runner: { kind: builtin, name: counter.increment }
roles: [tester]
timeoutMs: 600000
inputSchema: { type: object }
`,
    'agents/long.yaml': `
kind: procedure
name: long
version: 1.0.0
description: Makes one long call.
role: tester
tools: [test.long]
steps:
  - { id: long, tool: test.long, arguments: {} }
output: done
`,
    'plans/long.yaml': `
name: long
version: 1.0.0
description: One long call.
tasks:
  - { id: only, pool: test, agent: long, timeoutMs: 900000 }
`,
  });

/** How long each of the short goals took, in the world's time. */
class ShortGoals {
  readonly tookMs: number[] = [];
  private readonly world: MemoryWorld;
  private count = 0;

  constructor(world: MemoryWorld) {
    this.world = world;
  }

  /** Hands in a goal and waits for its result. */
  async one(): Promise<void> {
    this.count += 1;
    const id = `short-${this.count}`;
    const startMs = this.world.clock.nowMs();
    this.world.publishGoal({ id, goal: 'Say it.', plan: 'echo' });
    const isThere = (): boolean => this.world.results().some(({ goalId }) => goalId === id);
    expect(await this.world.clock.run(minuteMs, isThere), `${id} stands still`).toBe(true);
    this.tookMs.push(this.world.clock.nowMs() - startMs);
  }
}

test.each(['leave', 'die'])(
  'a call of minutes runs once while members join and %s, and the others go on',
  async (how) => {
    const world = await MemoryWorld.start({
      catalog: catalog(),
      partitions: 4,
      tools: { 'test.long': () => ({ afterMs: callMs, result: {} }) },
    });
    const goal = world.publishGoal({ id: 'long', goal: 'Take your time.', plan: 'long' });
    expect(await world.clock.run(10_000, () => startsOf(world, 'test.long') === 1)).toBe(true);
    const short = new ShortGoals(world);
    for (let round = 2; round <= 8; round += 1) {
      await world.startHost(`host-${round}`, ['all']);
      for (let count = 0; count < 4; count += 1) await short.one();
      await world.clock.run(15_000);
      if (how === 'leave') await world.stopHost(`host-${round}`);
      else world.crash(`host-${round}`);
      await short.one();
      await world.clock.run(10_000);
    }
    expect(statusesOf(world)['long']).toBeUndefined();
    expect(await world.runUntilDone(callMs + minuteMs)).toBe(true);
    expect(statusesOf(world)['long']).toBe('completed');
    expect(startsOf(world, 'test.long')).toBe(1);
    expect(Math.max(...short.tookMs)).toBeLessThan(30_000);
    const proof = await WorldProof.of(world, goal);
    expect(proof.all('tool.claimed')).toHaveLength(1);
    expect(proof.all('tool.completed')).toHaveLength(1);
    expect(world.fatal).toEqual([]);
  },
);
