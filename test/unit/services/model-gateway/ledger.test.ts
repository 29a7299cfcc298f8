/** The budget log of a tenant's day: lends to sessions, never more than the day allows. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SeenEvent } from '../../../../schemas/event.ts';
import {
  decideLedger,
  foldLedger,
  type Ledger,
  leftNanoUsd,
} from '../../../../services/model-gateway/ledger.ts';

const seen = (type: string, data: object): SeenEvent => ({ type, data }) as SeenEvent;

/** A budget log and the sessions that borrow from it, without the way between them. */
class Day {
  ledger: Ledger | undefined;
  readonly limitNanoUsd: number;
  /** Session -> what it has, and what it waits for. */
  readonly lent = new Map<string, number>();
  readonly refused: string[] = [];
  private numbers = 0;

  constructor(limitNanoUsd: number) {
    this.limitNanoUsd = limitNanoUsd;
  }

  ask(session: string, askNanoUsd: number, leastNanoUsd = askNanoUsd): void {
    const data = { session, lane: 'normal', number: ++this.numbers, tenant: 'acme' };
    const asked = { day: '2026-11-30', askNanoUsd, leastNanoUsd, limitNanoUsd: this.limitNanoUsd };
    this.take(seen('tranche.requested', { ...data, ...asked }));
  }

  giveBack(session: string, spentNanoUsd: number): void {
    const lentNanoUsd = this.lent.get(session) ?? 0;
    this.lent.delete(session);
    this.take(seen('tranche.returned', { session, number: 0, lentNanoUsd, spentNanoUsd }));
  }

  waiting(): string[] {
    return this.ledger?.queue.map(({ session }) => session) ?? [];
  }

  private take(event: SeenEvent): void {
    this.ledger = foldLedger(this.ledger, event);
    for (const draft of this.ledger === undefined ? [] : decideLedger(this.ledger)) {
      this.ledger = foldLedger(this.ledger, draft as unknown as SeenEvent);
      if (draft.type === 'tranche.lent') {
        const { session, lentNanoUsd } = draft.data;
        this.lent.set(session, (this.lent.get(session) ?? 0) + lentNanoUsd);
      }
      if (draft.type === 'tranche.refused') this.refused.push(draft.data.session);
    }
    // Level-triggered: what was decided is not decided again.
    if (this.ledger !== undefined) expect(decideLedger(this.ledger)).toEqual([]);
  }
}

describe('a budget log', () => {
  test('lends what is asked, then what is left', () => {
    const day = new Day(100);
    day.ask('a', 60);
    day.ask('b', 60, 10);
    expect([...day.lent]).toEqual([
      ['a', 60],
      ['b', 40],
    ]);
  });

  test('lets one wait while another may give back, and lends what comes', () => {
    const day = new Day(100);
    day.ask('a', 100);
    day.ask('b', 50);
    expect(day.waiting()).toEqual(['b']);
    day.giveBack('a', 30);
    expect(day.lent.get('b')).toBe(50);
    expect(day.waiting()).toEqual([]);
  });

  test('refuses when nothing can come back', () => {
    const day = new Day(100);
    day.ask('a', 100);
    day.giveBack('a', 100);
    day.ask('b', 1);
    expect(day.refused).toEqual(['b']);
  });

  test('two that wait for each other: the newest is refused, and its money lets the other go', () => {
    const day = new Day(100);
    day.ask('a', 50);
    day.ask('b', 50);
    day.ask('a', 20);
    expect(day.waiting()).toEqual(['a']);
    day.ask('b', 20);
    expect(day.refused).toEqual(['b']);
    day.giveBack('b', 5);
    expect(day.lent.get('a')).toBe(70);
  });

  test('follows a limit that was changed', () => {
    const day = new Day(100);
    day.ask('a', 100);
    (day as { limitNanoUsd: number }).limitNanoUsd = 150;
    day.ask('b', 50);
    expect(day.lent.get('b')).toBe(50);
  });

  test('closes when its day is long over', () => {
    const day = new Day(100);
    day.ask('a', 10);
    const over = foldLedger(day.ledger, seen('timer.fired', { timer: 'budget-log-over' }));
    expect(decideLedger(over as Ledger).map(({ type }) => type)).toEqual(['session.closed']);
  });

  test('never lends above the limit, and nobody waits when all others have given back', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('ask' as const),
        who: fc.nat(5),
        ask: fc.integer({ min: 1, max: 60 }),
        least: fc.double({ min: 0.1, max: 1, noNaN: true }),
      }),
      fc.record({ kind: fc.constant('back' as const), who: fc.nat(5), share: fc.nat(100) }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.array(step, { maxLength: 60 }),
        (limit, steps) => {
          const day = new Day(limit);
          let spent = 0;
          for (const one of steps) {
            const session = `s${one.who}`;
            if (one.kind === 'ask') {
              // A session waits for one answer at a time.
              if (day.waiting().includes(session)) continue;
              day.ask(session, one.ask, Math.ceil(one.ask * one.least));
            } else if (day.lent.has(session) && !day.waiting().includes(session)) {
              const used = Math.floor(((day.lent.get(session) ?? 0) * one.share) / 100);
              spent += used;
              day.giveBack(session, used);
            }
            const lent = [...day.lent.values()].reduce((sum, nanoUsd) => sum + nanoUsd, 0);
            expect(spent + lent).toBeLessThanOrEqual(limit);
            if (day.ledger !== undefined)
              expect(leftNanoUsd(day.ledger)).toBe(limit - spent - lent);
          }
          // Everybody who can gives back: whoever still waits is answered.
          for (let round = 0; round < 20 && day.lent.size > 0; round += 1)
            for (const session of [...day.lent.keys()])
              if (!day.waiting().includes(session)) day.giveBack(session, 0);
          expect(day.waiting()).toEqual([]);
        },
      ),
    );
  });
});
