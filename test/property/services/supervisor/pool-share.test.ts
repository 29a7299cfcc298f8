/** The places of a pool, shared out among tenants: pure, over whole runs. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PoolLimits } from '../../../../schemas/definitions/pool.ts';
import {
  aheadMax,
  enqueue,
  give,
  nextOf,
  nothingShared,
  rankOf,
  type Sharing,
  takeBack,
  type Wish,
  waitingIn,
} from '../../../../services/supervisor/pool/share.ts';

type Step =
  | Readonly<{ kind: 'ask'; tenant: string; key: string | undefined; priority: number }>
  | Readonly<{ kind: 'end'; pick: number }>;

const tenants = ['acme', 'bolt', 'corp'];
const ask = fc.record({
  kind: fc.constant('ask' as const),
  tenant: fc.constantFrom(...tenants),
  key: fc.constantFrom('k1', 'k2', undefined),
  priority: fc.integer({ min: 0, max: 3 }),
});
const end = fc.record({ kind: fc.constant('end' as const), pick: fc.nat(1_000) });
const steps = fc.array(fc.oneof({ weight: 3, arbitrary: ask }, { weight: 2, arbitrary: end }), {
  maxLength: 120,
  size: 'max',
});
const limit = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined });
const limits = fc.record({ concurrencyMax: limit, perTenantMax: limit, perKeyMax: limit });

type Grant = Readonly<{ tenant: string; wish: Wish; before: Sharing }>;

/** Plays the steps; after each, everything is given that may be. */
class Run {
  sharing = nothingShared;
  readonly grants: Grant[] = [];
  private count = 0;
  private readonly limits: PoolLimits;

  constructor(of: PoolLimits) {
    this.limits = of;
  }

  play(step: Step): void {
    if (step.kind === 'ask') this.ask(step);
    else this.end(step.pick);
    this.giveAll();
  }

  ask({ tenant, key, priority }: Extract<Step, { kind: 'ask' }>): void {
    const atMs = this.count++ * 1_000;
    const place = { session: `s${this.count}`, lane: 'normal', task: 't', attempt: 1 };
    const wish = { ...place, rank: rankOf(atMs, priority), holdMs: 1_000 };
    this.sharing = enqueue(this.sharing, tenant, key === undefined ? wish : { ...wish, key });
  }

  end(pick: number): void {
    const held = Object.keys(this.sharing.held).sort();
    const [session = '', task = ''] = (held[pick % held.length] ?? '').split(' ');
    this.sharing = takeBack(this.sharing, { session, task, attempt: 1 });
  }

  private giveAll(): void {
    for (;;) {
      const next = nextOf(this.sharing, this.limits);
      if (next === undefined) return;
      this.grants.push({ ...next, before: this.sharing });
      this.sharing = give(this.sharing, next.tenant, { ...next.wish, untilMs: 1 });
    }
  }
}

type GivenLimits = {
  readonly [K in 'concurrencyMax' | 'perTenantMax' | 'perKeyMax']: number | undefined;
};

const known = ({ concurrencyMax, perTenantMax, perKeyMax }: GivenLimits): PoolLimits => ({
  ...(concurrencyMax === undefined ? {} : { concurrencyMax }),
  ...(perTenantMax === undefined ? {} : { perTenantMax }),
  ...(perKeyMax === undefined ? {} : { perKeyMax }),
});

test('F1: no limit is ever passed', () => {
  fc.assert(
    fc.property(limits, steps, (given, all) => {
      const of = known(given);
      const run = new Run(of);
      for (const step of all) {
        run.play(step);
        const held = Object.values(run.sharing.held);
        expect(held.length).toBeLessThanOrEqual(of.concurrencyMax ?? Infinity);
        for (const tenant of tenants) {
          const own = held.filter((one) => one.tenant === tenant);
          expect(own.length).toBeLessThanOrEqual(of.perTenantMax ?? Infinity);
          for (const key of ['k1', 'k2'])
            expect(own.filter((one) => one.key === key).length).toBeLessThanOrEqual(
              of.perKeyMax ?? Infinity,
            );
        }
      }
    }),
  );
});

/** Who waits though there is room in the pool, for the tenant, and for the key. */
function couldHave({ held, waiting }: Sharing, of: PoolLimits): readonly Wish[] {
  const { concurrencyMax = Infinity, perTenantMax = Infinity, perKeyMax = Infinity } = of;
  const places = Object.values(held);
  if (places.length >= concurrencyMax) return [];
  return Object.entries(waiting).flatMap(([tenant, line]) => {
    const own = places.filter((one) => one.tenant === tenant);
    const hasRoom = ({ key }: Wish): boolean =>
      key === undefined || own.filter((one) => one.key === key).length < perKeyMax;
    return own.length < perTenantMax ? line.filter(hasRoom) : [];
  });
}

test('F2: whoever waits, waits for a limit; and everybody is served in the end', () => {
  fc.assert(
    fc.property(limits, steps, (given, all) => {
      const of = known(given);
      const run = new Run(of);
      for (const step of all) run.play(step);
      for (let left = all.length; left > 0; left -= 1) {
        expect(couldHave(run.sharing, of)).toEqual([]);
        run.play({ kind: 'end', pick: left });
      }
      expect(waitingIn(run.sharing)).toBe(0);
      const asked = all.filter(({ kind }) => kind === 'ask').length;
      expect(run.grants).toHaveLength(asked);
    }),
  );
});

test('F3: while a tenant waits, every other one gets at most so many turns', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 4 }), (all, concurrencyMax) => {
      const run = new Run({ concurrencyMax });
      for (const step of all) run.play(step);
      for (const tenant of tenants) {
        const passed = new Map<string, number>();
        for (const grant of run.grants) {
          const waits = Object.hasOwn(grant.before.waiting, tenant);
          if (!waits || grant.tenant === tenant) passed.clear();
          else passed.set(grant.tenant, (passed.get(grant.tenant) ?? 0) + 1);
          for (const turns of passed.values()) expect(turns).toBeLessThanOrEqual(aheadMax + 2);
        }
      }
    }),
  );
});

test('F4: within a tenant the lowest rank goes first', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const run = new Run({ concurrencyMax: 2 });
      for (const step of all) run.play(step);
      for (const { tenant, wish, before } of run.grants) {
        const line = before.waiting[tenant] ?? [];
        expect(Math.min(...line.map(({ rank }) => rank))).toBe(wish.rank);
      }
    }),
  );
});

/** Ends of tasks of `tenant`, in steps of one task, while another one has so many waiting. */
function waitsOf(others: number): readonly number[] {
  const concurrencyMax = 8;
  const run = new Run({ concurrencyMax });
  const plain = { kind: 'ask', key: undefined, priority: 0 } as const;
  for (let n = 0; n < others; n += 1) run.play({ ...plain, tenant: 'acme' });
  // In a pool that runs for a while its places come free one after another.
  for (let n = 0; n < others / 4; n += 1) run.play({ kind: 'end', pick: n });
  for (let n = 0; n < 10; n += 1) run.play({ ...plain, tenant: 'bolt' });
  const waits: number[] = [];
  for (let ended = 0; waits.length < 10 && ended < 2_000; ended += 1) {
    const before = run.grants.length;
    if (ended === 0)
      waits.push(...run.grants.filter(({ tenant }) => tenant === 'bolt').map(() => 0));
    run.play({ kind: 'end', pick: ended });
    for (const { tenant } of run.grants.slice(before)) if (tenant === 'bolt') waits.push(ended + 1);
  }
  return waits;
}

test('ten tasks of one tenant pass a thousand of another', () => {
  expect(waitsOf(0)).toHaveLength(10);
  // The first ten places that come free are theirs.
  expect(waitsOf(1_000)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});
