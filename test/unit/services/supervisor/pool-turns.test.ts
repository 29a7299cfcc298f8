/** Fairness between tenants of a pool, counted in places that are given and not in time. */
import { describe, expect, test } from 'vitest';
import {
  enqueue,
  give,
  nextOf,
  nothingShared,
  type Sharing,
  takeBack,
} from '../../../../services/supervisor/pool/share.ts';

const untilMs = 1_000_000;

/** A pool whose places are all given anew in each round: whoever has one works for that long. */
class Rounds {
  readonly served: string[] = [];
  round = 0;
  private sharing: Sharing = nothingShared;
  private readonly places: number;

  constructor(places: number) {
    this.places = places;
  }

  come(tenant: string, goals: number, from = 0): void {
    for (let n = from; n < from + goals; n += 1) {
      const wish = { session: `${tenant}-${n}`, lane: 'normal', task: 't', attempt: 1 };
      this.sharing = enqueue(this.sharing, tenant, { ...wish, rank: this.round, holdMs: 1 });
    }
  }

  next(): void {
    for (const slot of Object.keys(this.sharing.held)) {
      const [session = '', task = ''] = slot.split(' ');
      this.sharing = takeBack(this.sharing, { session, task, attempt: 1 });
    }
    this.round += 1;
    for (;;) {
      const next = nextOf(this.sharing, { concurrencyMax: this.places });
      if (next === undefined) return;
      const { tenant, wish } = next;
      this.served.push(tenant);
      this.sharing = give(this.sharing, tenant, { ...wish, untilMs });
    }
  }

  /** Rounds until so many of the tenant have had their place. */
  until(tenant: string, goals: number): number {
    const from = this.round;
    const count = () => this.served.filter((one) => one === tenant).length;
    const before = count();
    while (count() < before + goals) this.next();
    return this.round - from;
  }
}

/** Rounds that ten goals of `bolt` take, beside so many of `acme` that wait already. */
function tenBeside(places: number, others: number): number {
  const pool = new Rounds(places);
  pool.come('acme', others);
  if (others > 0) pool.next();
  pool.come('bolt', 10);
  return pool.until('bolt', 10);
}

describe('a thousand goals of one tenant that wait', () => {
  test.each([1, 2, 3, 10])('cost ten of another no round, with %i places', (places) => {
    expect(tenBeside(places, 1_000)).toBe(tenBeside(places, 0));
  });

  test('cost the ten of another the same each time it comes back, and are served all the same', () => {
    const pool = new Rounds(2);
    pool.come('acme', 1_000);
    for (let time = 0; time < 10; time += 1) {
      for (let round = 0; round < 8; round += 1) pool.next();
      pool.come('bolt', 10, time * 10);
      expect(pool.until('bolt', 10)).toBe(5);
    }
    expect(pool.served.filter((one) => one === 'acme')).toHaveLength(160);
  });

  test('and a tenant that comes with more than its credit takes turns from then on', () => {
    const pool = new Rounds(1);
    pool.come('acme', 1_000);
    pool.next();
    pool.come('bolt', 100);
    for (let round = 0; round < 60; round += 1) pool.next();
    const [first, rest] = [pool.served.slice(1, 17), pool.served.slice(21, 61)];
    expect(new Set(first)).toEqual(new Set(['bolt']));
    expect(rest.filter((one) => one === 'acme')).toHaveLength(20);
  });
});
