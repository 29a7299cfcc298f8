/** Pools with limits: what one session asks for and gives back, and how many run over sessions, partitions and hosts. */
import { expect, test } from 'vitest';
import { event, json } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { poolsTopic } from '../../../../schemas/topics.ts';
import { poolLogId } from '../../../../services/chassis/protocol/ids.ts';
import { graceMs } from '../../../../services/supervisor/pool/pool-log.ts';
import { mostAtOnce } from '../../../support/at-once.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import {
  aCatalog,
  aPlan,
  aTask,
  opened,
  planTurn,
  taskCompleted,
  taskFailed,
} from '../../../support/plan-fixtures.ts';
import { SupervisorBench } from '../../../support/supervisor-bench.ts';
import { catalogWith, statusesOf, WorldProof } from '../../../support/world-proof.ts';

const poolLog = poolLogId('main');

/** A session whose pool `main` has limits. */
function limited(ids: readonly string[], goal: Parameters<typeof opened>[0] = {}) {
  const bench = new SupervisorBench();
  const plan = aPlan(ids.map((id) => aTask(id)));
  bench.input(opened(goal));
  const [proposed, accepted] = planTurn(plan);
  if (proposed === undefined || accepted?.type !== 'plan.accepted') throw new Error('no plan');
  const catalog = { ...aCatalog(plan), limitedPools: ['main'] } as unknown as JsonValue;
  bench.append(
    [proposed, { ...accepted, content: { ...accepted.content, catalog: json(catalog) } }],
    'planner',
  );
  return bench;
}

function grant(
  bench: SupervisorBench,
  tasks: readonly string[],
  attempt = 1,
  heldMs = 5_000,
): void {
  const untilMs = bench.nowMs + heldMs + graceMs;
  const given = tasks.map((task) => ({ task, attempt, untilMs }));
  bench.input(event('permit.granted', { poolLog, pool: 'main', tasks: given }));
}

test('tasks of such a pool ask once, begin when they may, and give their places back with the outcome', () => {
  const bench = limited(['a', 'b'], { key: 'k', priority: 'high', lane: 'high' });
  expect(bench.says()).toEqual(['permit.requested']);
  expect(bench.eventOf('permit.requested').data).toEqual({
    ...{ poolLog, pool: 'main', lane: 'high', key: 'k' },
    tasks: ['a', 'b'].map((task) => ({ task, attempt: 1, priority: 100, holdMs: 5_000 })),
  });
  grant(bench, ['b']);
  expect(bench.says()).toEqual(['task.scheduled b 1', 'timer.set supervisor/task/b/1']);
  bench.input(taskCompleted('b', 1) as never, 'worker-pool:main');
  expect(bench.says()[0]).toBe('permit.returned');
  expect(bench.eventOf('permit.returned').data.tasks).toEqual([
    { task: 'b', attempt: 1, outcome: 'completed' },
  ]);
  // The same grant once more, as after a restart of the pool log: nobody wants it.
  grant(bench, ['b']);
  expect(bench.says()).toEqual([]);
});

test('a further attempt asks anew: nobody holds a place while it waits', () => {
  const bench = limited(['a']);
  bench.decide();
  grant(bench, ['a']);
  bench.decide();
  bench.append([taskFailed('a')], 'worker-pool:main');
  expect(bench.says().slice(0, 2)).toEqual(['permit.returned', 'task.retry-scheduled a 2']);
  expect(bench.eventOf('permit.returned').data.tasks).toEqual([
    { task: 'a', attempt: 1, outcome: 'failed', code: 'TOOL_FAILED', class: 'tool-error' },
  ]);
  bench.fire('supervisor/retry/a/2');
  expect(bench.says()).toEqual(['permit.requested']);
  grant(bench, ['a'], 2);
  expect(bench.says()[0]).toBe('task.scheduled a 2');
});

test('a place that comes too late to be kept is given back and asked for again', () => {
  const bench = limited(['a']);
  bench.decide();
  grant(bench, ['a'], 1, 0);
  bench.nowMs += graceMs;
  expect(bench.says()).toEqual(['permit.returned', 'permit.requested']);
  expect(bench.eventOf('permit.returned').data.tasks[0]?.outcome).toBe('unused');
});

test('a session that ends gives back what it has and what it waits for, and closes after that', () => {
  const bench = limited(['a', 'b']);
  bench.decide();
  grant(bench, ['a']);
  bench.decide();
  bench.input(event('session.cancel-requested', { requestedBy: 'ada' }));
  expect(bench.says()).toContain('permit.returned');
  const back = bench.eventOf('permit.returned');
  expect(back.data.tasks.map(({ task, outcome }) => `${task} ${outcome}`)).toEqual([
    'a stopped',
    'b unused',
  ]);
  const status = { status: 'cancelled', goalId: 'goal-1' } as const;
  const [published] = bench.append(
    [event('result.published', status as never, {} as never)],
    'aggregator',
  );
  if (published === undefined) throw new Error('no result');
  const { record, index } = published;
  bench.append([event('delivery.acknowledged', { record, index, destinations: [] })], 'aggregator');
  expect(bench.says()).toEqual([]);
  bench.append(
    [event('delivery.acknowledged', { record: back.record, index: back.index, destinations: [] })],
    'supervisor',
  );
  expect(bench.says()).toEqual(['session.closed']);
});

test('what can never reach the log of the pool fails its task', () => {
  const bench = limited(['a']);
  bench.decide();
  const { record, index } = bench.eventOf('permit.requested');
  const refused = { record, index, code: 'DELIVERY_TOO_LARGE' };
  bench.append([event('delivery.refused', refused as never, {} as never)], 'supervisor');
  expect(bench.says()).toContain('task.abandoned a');
  expect(bench.eventOf('session.failed').data.code).toBe('POOL_UNREACHABLE');
});

const files = {
  'pools.yaml': `
- { name: narrow, description: Has limits., concurrencyMax: 3, perTenantMax: 2, tenants: { bolt: 1 } }
- { name: wide, description: Has none. }
`,
  'plans/narrow.yaml': `
name: narrow
version: 1.0.0
description: A task in a pool with limits.
inputs: { waitMs: { type: number, default: 300, description: How long. } }
tasks:
  - { id: one, pool: narrow, agent: counter, input: { counter: narrow, waitMs: =inputs.waitMs } }
  - { id: two, pool: narrow, agent: counter, input: { counter: narrow, waitMs: =inputs.waitMs } }
output: { kind: collect }
`,
};

async function played(goals: number) {
  const world = await MemoryWorld.start({
    ...{ hosts: [['all'], ['all']], partitions: 4, crashNoticedMs: 3_000 },
    catalog: catalogWith(files),
  });
  const published = Array.from({ length: goals }, (_, index) => {
    const tenant = index % 2 === 0 ? 'acme' : 'bolt';
    return world.publishGoal({ id: `narrow-${index}`, goal: 'Go.', plan: 'narrow', tenant });
  });
  return { world, published };
}

const poolSession = { goalId: '', goalLog: '', session: poolLogId('narrow') };

test('over two hosts and four partitions no more run than the pool and the tenants allow', async () => {
  const { world, published } = await played(6);
  expect(await world.runUntilDone()).toBe(true);
  expect(new Set(Object.values(statusesOf(world)))).toEqual(new Set(['completed']));
  expect(await mostAtOnce(world, published)).toEqual({ all: 3, acme: 2, bolt: 1 });
  const proof = await WorldProof.of(world, poolSession);
  const given = proof.all('slot.granted').flatMap(({ data }) => data.tasks);
  const back = proof.all('slot.returned').flatMap(({ data }) => data.tasks);
  expect([given.length, back.length]).toEqual([12, 12]);
  expect(proof.all('slot.granted').at(-1)?.data).toMatchObject({ waiting: 0 });
  expect(proof.judged.core.meta.tenant).toBe('longrein');
});

test('a host that is killed strands no place, and no limit is passed by who takes over', async () => {
  const { world, published } = await played(6);
  await world.clock.run(1_200);
  world.crash('host-1');
  expect(await world.runUntilDone()).toBe(true);
  const most = await mostAtOnce(world, published);
  expect(most.all).toBeLessThanOrEqual(3);
  expect(most.bolt).toBe(1);
  const proof = await WorldProof.of(world, poolSession);
  const [given, back] = (['slot.granted', 'slot.returned'] as const).map((type) =>
    proof
      .all(type)
      .flatMap(({ data }) => data.tasks.map((one) => `${data.session} ${one.task} ${one.attempt}`)),
  );
  expect(new Set(back)).toEqual(new Set(given));
  expect(proof.all('slot.expired')).toEqual([]);
});

test('a pool without limits is asked nothing', async () => {
  const { world } = await played(0);
  world.publishGoal({ id: 'count', goal: 'Count.', plan: 'count', inputs: { counter: 'free' } });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.records(poolsTopic).filter(({ headers }) => headers['lr_kind'] !== 'epoch')).toEqual(
    [],
  );
});
