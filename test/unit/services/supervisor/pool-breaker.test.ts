/** The circuit breaker of a pool, in the pool's log. */
import { expect, test } from 'vitest';
import type { PoolLimits } from '../../../../schemas/definitions/pool.ts';
import { type DataOf, event, type SeenEvent } from '../../../../schemas/event.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { supervisorLogic } from '../../../../services/supervisor/decide.ts';
import { pauseTimer } from '../../../../services/supervisor/pool/breaker.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, statusesOf, WorldProof } from '../../../support/world-proof.ts';

type End = Omit<DataOf<'slot.returned'>['tasks'][number], 'task' | 'attempt'>;

const away: End = { outcome: 'failed', code: 'UNREACHABLE', class: 'unavailable' };
const done: End = { outcome: 'completed' };
const wrong: End = { outcome: 'failed', code: 'BAD', class: 'invalid-arguments' };

/** The log of one pool, with the supervisor alone. */
class PoolBench {
  private readonly bench: BenchSession;

  constructor(limits: PoolLimits) {
    const facts = () => ({ facts: { limits } as unknown as JsonObject });
    this.bench = new BenchSession([{ logic: supervisorLogic, facts }], { session: 'pool:p' });
  }

  get nowMs(): number {
    return this.bench.nowMs;
  }

  later(ms: number): void {
    this.bench.nowMs += ms;
  }

  ask(session: string): readonly string[] {
    const tasks = [{ task: 't', attempt: 1, priority: 0, holdMs: 60_000 }];
    const from = { session, lane: 'normal', tenant: 'acme', pool: 'p' };
    this.bench.input(event('slot.requested', { ...from, tasks }));
    return this.decide();
  }

  end(session: string, end: End): readonly string[] {
    const tasks = [{ task: 't', attempt: 1, ...end }];
    this.bench.input(event('slot.returned', { session, pool: 'p', tasks }));
    return this.decide();
  }

  /** What is decided, but for the timer of places. */
  decide(): readonly string[] {
    const drafts = this.bench.propose('supervisor');
    const seen = drafts.length === 0 ? [] : this.bench.append(drafts, 'supervisor');
    expect(this.bench.propose('supervisor')).toEqual([]);
    return seen.flatMap((one) => {
      if (one.type === 'timer.set') return one.data.timer === pauseTimer ? [one.type] : [];
      return [one.type === 'slot.granted' ? `granted ${one.data.session}` : one.type];
    });
  }

  newest<T extends SeenEvent['type']>(type: T): SeenEvent<T>['data'] | undefined {
    const found = this.bench.events.findLast((one) => one.type === type);
    return found?.data as SeenEvent<T>['data'] | undefined;
  }
}

const breaker = { failuresMax: 2, coolMs: 1_000 };

/** A pool that was paused; `a` and `b` failed, `c` waits. */
function paused(): PoolBench {
  const pool = new PoolBench({ breaker });
  for (const one of ['a', 'b']) expect(pool.ask(one)).toEqual([`granted ${one}`]);
  expect(pool.end('a', away)).toEqual([]);
  expect(pool.end('b', away)).toEqual(['pool.paused', 'timer.set']);
  expect(pool.ask('c')).toEqual([]);
  return pool;
}

test('opens after so many failures in a row that speak of the pool, and says why', () => {
  const pool = paused();
  expect(pool.newest('pool.paused')).toEqual({
    ...{ pool: 'p', failures: 2, code: 'UNREACHABLE', class: 'unavailable', pauses: 1 },
    untilMs: pool.nowMs + 1_000,
  });
});

test('failures that speak of the task do not open it, and one that completes begins anew', () => {
  const pool = new PoolBench({ breaker });
  for (const [session, end] of Object.entries({ a: wrong, b: away, c: wrong, d: done, e: away })) {
    pool.ask(session);
    expect(pool.end(session, end)).toEqual([]);
  }
});

test('lets one through as a probe: what it shows ends the pause, or doubles it', () => {
  const pool = paused();
  pool.later(1_000);
  expect(pool.ask('d')).toEqual(['granted c']);
  expect(pool.end('c', away)).toEqual(['pool.paused', 'timer.set']);
  expect(pool.newest('pool.paused')).toMatchObject({ pauses: 2, untilMs: pool.nowMs + 2_000 });
  pool.later(2_000);
  expect(pool.ask('e')).toEqual(['granted d']);
  expect(pool.ask('f')).toEqual([]);
  expect(pool.end('d', done)).toEqual(['pool.resumed', 'granted e', 'granted f']);
});

test('a probe that shows nothing makes room for another', () => {
  const pool = paused();
  pool.later(1_000);
  expect(pool.ask('d')).toEqual(['granted c']);
  expect(pool.end('c', { outcome: 'stopped' })).toEqual(['granted d']);
});

const files = {
  'pools.yaml': `
- { name: shaky, description: Stops when it fails., breaker: { failuresMax: 2, coolMs: 2000 } }
`,
  'plans/shaky.yaml': `
name: shaky
version: 1.0.0
description: A task in a pool with a breaker.
tasks: [{ id: one, pool: shaky, agent: echoer, input: 1, attemptsMax: 1 }]
output: { kind: collect }
`,
};

test('in whole sessions: goals wait while the pool does not work, and go on when a probe shows that it does', async () => {
  const failure = { code: 'AWAY', class: 'unavailable', retryable: false } as const;
  const world = await MemoryWorld.start({
    catalog: catalogWith(files),
    tools: {
      'test.echo': (_call, count) => (count <= 2 ? { failure } : { result: count, afterMs: 20 }),
    },
  });
  for (let n = 0; n < 5; n += 1) {
    world.publishGoal({ id: `g${n}`, goal: 'Go.', plan: 'shaky' });
    await world.clock.run(100);
  }
  expect(await world.runUntilDone()).toBe(true);
  expect(statusesOf(world)).toEqual({
    ...{ g0: 'failed', g1: 'failed', g2: 'completed', g3: 'completed', g4: 'completed' },
  });
  const pool = { goalId: '', goalLog: '', session: 'pool:shaky' };
  const proof = await WorldProof.of(world, pool);
  expect(proof.order('pool.paused', 'pool.resumed')).toEqual(['pool.paused', 'pool.resumed']);
});
