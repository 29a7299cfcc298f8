import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Draft, event, type SeenEvent } from '../../../../schemas/event.ts';
import {
  decidePoolLog,
  foldPoolLog,
  type PoolLog,
} from '../../../../services/supervisor/pool/pool-log.ts';
import { slotOf } from '../../../../services/supervisor/pool/share.ts';

/** The breaker of a template in the log of a pool, over whole runs. */

const failuresMax = 2;
const concurrencyMax = 4;
type Step =
  | Readonly<{ kind: 'ask'; digest: 'one' | 'two'; placeless: boolean }>
  | Readonly<{ kind: 'end'; pick: number; works: boolean }>
  | Readonly<{ kind: 'later'; ms: number }>;

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('ask' as const),
    digest: fc.constantFrom('one', 'two'),
    placeless: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('end' as const), pick: fc.nat(100), works: fc.boolean() }),
  fc.record({ kind: fc.constant('later' as const), ms: fc.constantFrom(1_000, 9_000, 30_000) }),
);

/** One pool; after each step everything is decided that is due, and decided again to nothing. */
class Run {
  log: PoolLog | undefined;
  nowMs = 1_000;
  readonly events: SeenEvent[] = [];
  readonly held = new Map<string, Readonly<{ digest: string; probe: boolean }>>();
  readonly out = new Set<string>();
  private readonly digests = new Map<string, string>();
  /** Work on the place of somebody else. */
  private readonly guests = new Set<string>();
  private readonly meanwhile: 'wait' | 'fail';

  constructor(meanwhile: 'wait' | 'fail') {
    this.meanwhile = meanwhile;
  }

  play(one: Step): void {
    if (one.kind === 'later') this.nowMs += one.ms;
    else if (one.kind === 'ask') this.ask(one);
    else this.end(one);
    if (this.log === undefined) return;
    const decide = (log: PoolLog): Draft[] =>
      decidePoolLog(log, { nowMs: this.nowMs, limits: { concurrencyMax } });
    for (const draft of decide(this.log)) this.fold(draft);
    expect(decide(this.log as PoolLog)).toEqual([]);
  }

  private ask({ digest, placeless }: Extract<Step, { kind: 'ask' }>): void {
    const session = `s${this.digests.size}`;
    this.digests.set(slotOf(session, 't'), digest);
    if (placeless) this.guests.add(slotOf(session, 't'));
    const rules = { agent: 'a', failuresMax, coolMs: 10_000, meanwhile: this.meanwhile };
    const asked = { task: 't', attempt: 1, priority: 0, holdMs: 9e8 };
    const more = placeless ? { placeless } : {};
    const tasks = [{ ...asked, template: { ...rules, digest }, ...more }];
    const from = { session, lane: 'normal', tenant: 'acme', pool: 'p' };
    this.fold(event('slot.requested', { ...from, tasks }));
  }

  private end({ pick, works }: Extract<Step, { kind: 'end' }>): void {
    const slots = [...this.held.keys()];
    const slot = slots[pick % Math.max(1, slots.length)];
    if (slot === undefined) return;
    const end = works
      ? ({ outcome: 'completed' } as const)
      : ({ outcome: 'failed', code: 'BROKE', class: 'tool-error' } as const);
    const [session = ''] = slot.split(' ');
    const tasks = [{ task: 't', attempt: 1, ...end }];
    this.fold(event('slot.returned', { session, pool: 'p', tasks }));
    this.held.delete(slot);
  }

  private fold(draft: Draft): void {
    const seen = { ...draft, atMs: this.nowMs, record: 'r', index: 0 } as unknown as SeenEvent;
    this.events.push(seen);
    this.log = foldPoolLog(this.log, seen);
    if (seen.type === 'template.suspended') this.out.add(seen.data.digest);
    if (seen.type === 'template.resumed') this.resumed(seen.data.digest);
    if (seen.type !== 'slot.granted') return;
    const { session } = seen.data;
    for (const { task, probe } of seen.data.tasks) this.granted(slotOf(session, task), probe);
    // G1: who works on the place of another takes none.
    const places = [...this.held.keys()].filter((slot) => !this.guests.has(slot)).length;
    expect(seen.data.held).toBe(places);
    expect(places).toBeLessThanOrEqual(concurrencyMax);
  }

  /** A probe that still runs is an attempt like others then. */
  private resumed(digest: string): void {
    this.out.delete(digest);
    for (const [slot, one] of this.held)
      if (one.digest === digest) this.held.set(slot, { digest, probe: false });
  }

  /** B2: of a template that is out only one probe at a time gets a place. */
  private granted(slot: string, probe: string | undefined): void {
    const digest = this.digests.get(slot) ?? '';
    expect(probe !== undefined).toBe(this.out.has(digest));
    if (probe === undefined) {
      this.held.set(slot, { digest, probe: false });
      return;
    }
    expect(probe).toBe(digest);
    const probes = [...this.held.values()].filter((one) => one.probe && one.digest === digest);
    expect(probes).toEqual([]);
    this.held.set(slot, { digest, probe: true });
  }
}

test('B1, B2, B3: it opens after the failures, lets exactly one probe through at a time, and each version counts alone', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('wait' as const, 'fail' as const),
      fc.array(step, { maxLength: 120, size: 'max' }),
      (meanwhile, steps) => {
        const run = new Run(meanwhile);
        for (const one of steps) run.play(one);
        for (const seen of run.events)
          if (seen.type === 'template.suspended')
            expect(seen.data.failures).toBeGreaterThanOrEqual(failuresMax);
      },
    ),
    { numRuns: 200 },
  );
});

test('what waits begins in the end where the template works again', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const run = new Run('wait');
      for (const one of steps) run.play(one);
      for (let round = 0; round < 400; round += 1) {
        run.play({ kind: 'later', ms: 3_600_000 });
        if (run.held.size > 0) run.play({ kind: 'end', pick: 0, works: true });
      }
      expect(run.log?.sharing.waiting ?? {}).toEqual({});
      expect(run.log?.guests).toBeUndefined();
    }),
    { numRuns: 50 },
  );
});
