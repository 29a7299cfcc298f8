import { describe, expect, test } from 'vitest';
import { type DataOf, event, type SeenEvent } from '../../../../schemas/event.ts';
import {
  decidePoolLog,
  foldPoolLog,
  type PoolLog,
} from '../../../../services/supervisor/pool/pool-log.ts';

/** Attempts that work on the place of who waits for them, in the log of a pool. */

type Asked = DataOf<'slot.requested'>['tasks'][number];
type Ended = DataOf<'slot.returned'>['tasks'][number];

const rules = (digest: string) =>
  ({ agent: digest, digest, failuresMax: 2, coolMs: 10_000, meanwhile: 'wait' }) as const;

/** The log of one pool with one place, decided after each event. */
class Pool {
  log: PoolLog | undefined;
  nowMs = 1_000;
  readonly seen: SeenEvent[] = [];

  fold(draft: object): void {
    const seen = { ...draft, atMs: this.nowMs, record: 'r', index: 0 } as unknown as SeenEvent;
    this.seen.push(seen);
    this.log = foldPoolLog(this.log, seen);
  }

  decide(): void {
    if (this.log === undefined) return;
    const limits = { concurrencyMax: 1, breaker: { failuresMax: 1, coolMs: 1_000 } };
    const at = { nowMs: this.nowMs, limits };
    for (const draft of decidePoolLog(this.log, at)) this.fold(draft);
    expect(decidePoolLog(this.log, at)).toEqual([]);
  }

  ask(session: string, task: string, more: Partial<Asked> = {}): void {
    const asked = { task, attempt: 1, priority: 0, holdMs: 60_000, ...more };
    const from = { session, lane: 'normal', tenant: 'acme', pool: 'p' };
    this.fold(event('slot.requested', { ...from, tasks: [asked] }));
    this.decide();
  }

  give(session: string, task: string, template = 'T'): void {
    this.ask(session, task, { template: rules(template), placeless: true });
  }

  end(session: string, task: string, outcome: Ended['outcome'] = 'failed'): void {
    const why = outcome === 'failed' ? { code: 'DOWN', class: 'unavailable' } : {};
    const tasks = [{ task, attempt: 1, outcome, ...why }];
    this.fold(event('slot.returned', { session, pool: 'p', tasks }));
    this.decide();
  }

  /** Who began, and as a probe of what. */
  begun(): readonly string[] {
    return this.seen.flatMap((seen) =>
      seen.type !== 'slot.granted'
        ? []
        : seen.data.tasks.map(({ task, probe }) =>
            [seen.data.session, task, ...(probe === undefined ? [] : [`probe ${probe}`])].join(' '),
          ),
    );
  }

  /** Template T is out, and its time is over. */
  static afterFailures(): Pool {
    const pool = new Pool();
    for (const session of ['x', 'y']) {
      pool.give(session, 'a/1');
      pool.end(session, 'a/1');
    }
    return pool;
  }
}

describe('an attempt on the place of another', () => {
  test('G1: begins where no place is free, takes none, and gives none back', () => {
    const pool = new Pool();
    pool.ask('s', 'one');
    pool.ask('s', 'two');
    pool.give('s', 'one/1');
    expect(pool.begun()).toEqual(['s one', 's one/1']);
    pool.end('s', 'one/1', 'completed');
    expect(pool.begun()).toEqual(['s one', 's one/1']);
    pool.end('s', 'one', 'completed');
    expect(pool.begun()).toEqual(['s one', 's one/1', 's two']);
    expect(pool.log?.guests).toBeUndefined();
  });

  test('says nothing to the breaker of the pool, which does not stop it either', () => {
    const pool = new Pool();
    pool.give('s', 'one/1');
    pool.end('s', 'one/1');
    expect(pool.seen.map(({ type }) => type)).not.toContain('pool.paused');
    pool.ask('s', 'two');
    pool.end('s', 'two');
    expect(pool.seen.map(({ type }) => type)).toContain('pool.paused');
    pool.give('s', 'three/1', 'U');
    expect(pool.begun().at(-1)).toBe('s three/1');
    expect(pool.log?.breaker?.pause?.probe).toBeUndefined();
  });

  test('is taken back when it is not given back long after its time', () => {
    const pool = new Pool();
    pool.give('s', 'one/1');
    pool.nowMs += 60_000 + 300_000;
    pool.decide();
    expect(pool.seen.map(({ type }) => type)).toContain('slot.expired');
    expect(pool.log?.guests).toBeUndefined();
  });

  test('counts for its template: after the failures the next one waits, then one probes', () => {
    const pool = Pool.afterFailures();
    expect(pool.seen.map(({ type }) => type)).toContain('template.suspended');
    pool.give('z', 'a/1');
    pool.give('w', 'a/1');
    expect(pool.begun()).toEqual(['x a/1', 'y a/1']);
    pool.nowMs += 10_000;
    pool.decide();
    expect(pool.begun().slice(2)).toEqual(['z a/1 probe T']);
    pool.end('z', 'a/1', 'completed');
    expect(pool.begun().slice(3)).toEqual(['w a/1']);
  });

  test('G2: what a probe gives away begins, whatever template it is of, and is no probe of the same one', () => {
    const pool = Pool.afterFailures();
    pool.nowMs += 10_000;
    pool.give('z', 'a/1');
    expect(pool.begun().at(-1)).toBe('z a/1 probe T');
    pool.give('z', 'a/1/1');
    expect(pool.begun().at(-1)).toBe('z a/1/1');
    // One of another session, or beside the probe, waits for it.
    pool.give('w', 'a/1/1');
    pool.give('z', 'a/10');
    expect(pool.begun().at(-1)).toBe('z a/1/1');
  });

  test('of a policy that does not wait is told so, unless a probe gave it away', () => {
    const pool = Pool.afterFailures();
    const template = { ...rules('T'), meanwhile: 'fail' } as const;
    pool.ask('z', 'a/1', { template, placeless: true });
    const [denied] = pool.seen.filter((seen) => seen.type === 'slot.denied');
    expect(denied?.data).toMatchObject({ session: 'z', tasks: [{ task: 'a/1', failures: 2 }] });
    expect(pool.log?.guests).toBeUndefined();
  });
});

test('an attempt that had handed its task on says nothing of its template', () => {
  const pool = new Pool();
  for (const session of ['x', 'y', 'z']) {
    pool.give(session, 'a/1');
    const end = { outcome: 'failed', code: 'DOWN', class: 'unavailable', handedOn: true } as const;
    const tasks = [{ task: 'a/1', attempt: 1, ...end }];
    pool.fold(event('slot.returned', { session, pool: 'p', tasks }));
    pool.decide();
  }
  expect(pool.seen.map(({ type }) => type)).not.toContain('template.suspended');
});
