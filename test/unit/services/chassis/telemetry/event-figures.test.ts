import { expect, test } from 'vitest';
import type { SeenEvent } from '../../../../../schemas/event.ts';
import { Figures } from '../../../../../services/chassis/telemetry/figures.ts';
import { metrics } from '../../../../../services/chassis/telemetry/metrics.ts';
import { MemoryWorld } from '../../../../support/memory-world.ts';
import { totalOf, valuesOf } from '../../../../support/metric-values.ts';
import { WorldProof } from '../../../../support/world-proof.ts';

const apart = [
  ['intake', 'supervisor', 'tool-guard', 'model-gateway', 'aggregator'],
  ['planner', 'worker-pool', 'tool-runner', 'sandbox-executor'],
];

/** A world whose hosts count, each by itself. */
async function countedWorld(options: Parameters<typeof MemoryWorld.start>[0] = {}) {
  const byHost = new Map<string, Figures>();
  const figuresOf = (host: string): Figures => {
    const figures = new Figures();
    byHost.set(host, figures);
    return figures;
  };
  const world = await MemoryWorld.start({ ...options, figuresOf });
  const meters = () => [...byHost.values()].map(({ meter }) => meter);
  return { world, meters };
}

const plans = ['ask', 'echo', 'flaky', 'twenty-steps'];

test.each([
  ['one host', [['all']]],
  ['two hosts', apart],
])('figures of %s together say what is in the log, each event once', async (_name, hosts) => {
  const { world, meters } = await countedWorld({ hosts });
  const goals = plans.map((plan) => world.publishGoal({ id: plan, goal: 'Count.', plan }));
  // A goal without an input that its plan needs.
  world.publishGoal({ id: 'count', goal: 'Count.', plan: 'count' });
  await world.runUntilDone();
  await world.clock.run(2_000);
  const proofs = await Promise.all(goals.map((goal) => WorldProof.of(world, goal)));
  const events = (type: SeenEvent['type']) => proofs.flatMap((proof) => proof.all(type));
  const count = (...types: SeenEvent['type'][]): number => types.flatMap(events).length;

  expect(count('tool.completed') + count('model.completed')).toBeGreaterThan(4);
  expect(totalOf(meters(), metrics.sessionsOpened)).toBe(goals.length);
  expect(totalOf(meters(), metrics.goalsRejected)).toBe(1);
  expect(totalOf(meters(), metrics.sessionsEnded)).toBe(
    count('session.completed', 'session.failed', 'session.cancelled'),
  );
  expect(totalOf(meters(), metrics.sessionDuration)).toBe(goals.length);
  expect(totalOf(meters(), metrics.toolDuration)).toBe(count('tool.completed', 'tool.failed'));
  expect(totalOf(meters(), metrics.toolRoundTrip)).toBe(count('tool.completed', 'tool.failed'));
  expect(totalOf(meters(), metrics.agentDuration)).toBe(
    count('agent.completed', 'agent.failed', 'agent.cancelled'),
  );
  expect(totalOf(meters(), metrics.steps)).toBe(count('tool.claimed', 'model.claimed'));
  expect(totalOf(meters(), metrics.stepsLost)).toBe(0);
  expect(totalOf(meters(), metrics.stepsRepeated)).toBe(0);
  const answers = events('model.completed') as SeenEvent<'model.completed'>[];
  const sum = (read: (data: SeenEvent<'model.completed'>['data']) => number): number =>
    answers.reduce((total, { data }) => total + read(data), 0);
  expect(totalOf(meters(), metrics.inputTokens)).toBe(sum((data) => data.inputTokens));
  expect(totalOf(meters(), metrics.outputTokens)).toBe(sum((data) => data.outputTokens));
  expect(totalOf(meters(), metrics.cost) * 1e9).toBeCloseTo(sum((data) => data.costNanoUsd));
  await world.stop();
});

test('a host that dies in the middle of a call: the successor counts the step again, and nothing twice', async () => {
  const { world, meters } = await countedWorld();
  world.publishGoal({ id: 'audit', goal: 'Count.', plan: 'echo' });
  expect(await world.clock.run(60_000, () => world.started.length > 0)).toBe(true);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  expect(await world.runUntilDone()).toBe(true);
  await world.clock.run(2_000);
  expect(valuesOf(meters(), metrics.sessionsEnded)).toEqual({
    ...{ completed: 1, failed: 0, cancelled: 0 },
  });
  expect(totalOf(meters(), metrics.stepsRepeated)).toBe(1);
  expect(totalOf(meters(), metrics.rehydration)).toBeGreaterThan(0);
  await world.stop();
});

const seen = (type: string, atMs: number, data: object): SeenEvent =>
  ({ type, atMs, data, service: 'x', record: 'r', index: 0, incarnation: 'i' }) as never;

test('an agent is idle where neither a model nor a tool works for it; calls side by side count once', () => {
  const figures = new Figures();
  const saw = (...events: SeenEvent[]): void =>
    figures.saw({ session: 's', service: 'x', own: true, events });
  const call = { agent: 'a', task: 't', tool: 'echo' };
  saw(seen('agent.started', 0, { agent: 'a' }));
  saw(
    seen('tool.requested', 1_000, { ...call, call: 'one' }),
    seen('tool.requested', 1_000, { ...call, call: 'two' }),
  );
  saw(seen('tool.completed', 3_000, { call: 'one', tool: 'echo', durationMs: 2_000 }));
  saw(seen('tool.failed', 4_000, { call: 'two', tool: 'echo', durationMs: 3_000 }));
  saw(seen('agent.completed', 10_000, { agent: 'a' }));
  expect(totalOf([figures.meter], metrics.agentIdle)).toBe(7);
  const [spread] = figures.meter
    .collect()
    .filter(({ metric }) => metric.name === metrics.agentDuration.name);
  expect(spread?.distributions[0]?.sum).toBe(10);
  expect(valuesOf([figures.meter], metrics.toolDuration)).toEqual({
    'echo,completed': 1,
    'echo,failed': 1,
  });
});

test('a call that a breaker turned away is counted as that, and not as one of the tool', () => {
  const figures = new Figures();
  const failed = (call: string, code: string): SeenEvent =>
    seen('tool.failed', 1, { call, tool: 'echo', durationMs: 0, code });
  const events = [failed('one', 'TOOL_DEADLINE'), failed('two', 'TOOL_SUSPENDED')];
  figures.saw({ session: 's', service: 'x', own: true, events });
  expect(valuesOf([figures.meter], metrics.toolCallsSuspended)).toEqual({ echo: 1 });
  expect(valuesOf([figures.meter], metrics.toolDuration)).toEqual({ 'echo,failed': 1 });
});

test('what another process wrote is not counted, and what it began is known', () => {
  const figures = new Figures();
  const events = [seen('session.opened', 5, { openedAtMs: 1_000 })];
  figures.saw({ session: 's', service: 'x', own: false, events });
  expect(totalOf([figures.meter], metrics.events)).toBe(0);
  const end = [seen('session.completed', 3_000, {})];
  figures.saw({ session: 's', service: 'x', own: true, events: end });
  expect(totalOf([figures.meter], metrics.events)).toBe(1);
  expect(valuesOf([figures.meter], metrics.sessionDuration)).toEqual({ completed: 1 });
});
