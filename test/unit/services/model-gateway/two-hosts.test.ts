/** Limits of a provider while two gateway hosts share it, and after one of them was killed. */
import { expect, test } from 'vitest';
import { breakerDefaults } from '../../../../services/model-gateway/gate/breaker.ts';
import type { GateLimits, GateRules } from '../../../../services/model-gateway/gate/rules.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { statusesOf, WorldProof } from '../../../support/world-proof.ts';

const callMs = 700;

type Limits = Pick<GateRules, 'providers' | 'tenants'>;

const ofProvider = (scripted: GateLimits): Limits => ({ providers: { scripted }, tenants: {} });

async function played(limits: Limits, crashAfterMs?: number) {
  const world = await MemoryWorld.start({
    hosts: [['all'], ['all']],
    crashNoticedMs: 3_000,
    gateRules: { ...limits, breaker: breakerDefaults },
    model: () => ({ text: 'Yes.', afterMs: callMs }),
  });
  // Both hosts have heard of each other.
  await world.clock.run(3_000);
  const goals = ['one', 'two'].map((id) =>
    world.publishGoal({ id, goal: 'Ask.', plan: 'fifty-questions' }),
  );
  if (crashAfterMs !== undefined) {
    await world.clock.run(crashAfterMs);
    world.crash('host-1');
  }
  const done = await world.runUntilDone(900_000);
  return { world, goals, done };
}

/** The most calls that were under way in one moment, by when they started. */
function mostAtOnce(world: MemoryWorld): number {
  const startsMs = world.started
    .filter(({ name }) => name === 'scripted/tester')
    .map(({ atMs }) => atMs);
  return Math.max(
    ...startsMs.map((atMs) => startsMs.filter((one) => one <= atMs && one > atMs - callMs).length),
  );
}

test('two hosts never have more calls under way than the provider allows, and all calls end', async () => {
  const { world, goals, done } = await played(ofProvider({ concurrentMax: 6 }));
  expect(done).toBe(true);
  // Half of it, where both sessions are the business of one host.
  expect([3, 6]).toContain(mostAtOnce(world));
  expect(Object.values(statusesOf(world))).toEqual(['completed', 'completed']);
  const proofs = await Promise.all(goals.map((goal) => WorldProof.of(world, goal)));
  // Who waits says so once, whatever happens meanwhile.
  const deferred = proofs.flatMap((proof) => proof.all('model.deferred'));
  expect(deferred.length).toBeGreaterThan(0);
  expect(deferred.length).toBeLessThanOrEqual(100);
});

test('the host that is left keeps the limit for both when the other is killed', async () => {
  const { world, done } = await played(ofProvider({ concurrentMax: 6 }), 2_500);
  expect(done).toBe(true);
  // What the killed host had under way may still run at the provider: its part is not used before.
  expect(mostAtOnce(world)).toBeLessThanOrEqual(6);
});

/** The most calls that began within one minute of each other. */
function mostInAMinute(world: MemoryWorld): number {
  const startsMs = world.started
    .filter(({ name }) => name === 'scripted/tester')
    .map(({ atMs }) => atMs);
  return Math.max(
    ...startsMs.map((atMs) => startsMs.filter((one) => one >= atMs && one < atMs + 60_000).length),
  );
}

/** Of what a played call uses, and the most that it may: the limit is asked for that before it begins. */
const usedTokens = 40 + 10 + 'Yes.'.length;

const rates: readonly (readonly [string, Limits, number])[] = [
  ['requests of a provider', ofProvider({ requestsPerMinute: 12 }), 12],
  ['requests of a tenant', { providers: {}, tenants: { default: { requestsPerMinute: 12 } } }, 12],
  ['tokens of a provider', ofProvider({ tokensPerMinute: 2_000 }), 2_000 / usedTokens],
  [
    'tokens of each tenant that is not named',
    { providers: {}, tenants: { '*': { tokensPerMinute: 2_000 } } },
    2_000 / usedTokens,
  ],
];

test.each(rates)(
  'the rate of %s holds over two hosts, and after one of them is killed',
  async (_, limits, most) => {
    const { world, goals, done } = await played(limits, 2_500);
    expect(done).toBe(true);
    expect(mostInAMinute(world)).toBeLessThanOrEqual(most);
    const proofs = await Promise.all(goals.map((goal) => WorldProof.of(world, goal)));
    const claimed = proofs.flatMap((proof) => proof.all('model.claimed')).length;
    const denied = proofs.flatMap((proof) =>
      proof.all('model.denied').map(({ data }) => data.code),
    );
    // Who found no room in its time is told why; nobody hangs.
    expect(claimed).toBeGreaterThan(2);
    expect(new Set(denied)).toEqual(new Set(['MODEL_RATE_LIMITED']));
    expect(world.unclosed()).toEqual([]);
  },
);
