import { expect, test } from 'vitest';
import type { Draft, InputEventType } from '../../../../../schemas/event.ts';
import { event } from '../../../../../schemas/event.ts';
import { limits } from '../../../../../schemas/limits.ts';
import { Probation } from '../../../../../services/chassis/host/probation.ts';
import { foldSeat, Slot, sharedCoreFold } from '../../../../../services/chassis/host/slot.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../../../../services/chassis/protocol/seal.ts';
import {
  claimed,
  completed,
  idleLogic,
  input,
  opening,
  session,
  turn,
} from '../../../../support/placed-record.ts';

const logic = idleLogic({ initial: () => ({}) });

/** A session that began at 10, with two calls under way. */
function begun() {
  const slot = new Slot(session);
  let next = 10;
  const take = (record: PlacedRecord): void => {
    foldSeat(slot.seatOf(logic), record, sharedCoreFold(record));
    next = record.offset + 1;
  };
  const claim = (call: string): string => {
    const at = next;
    take(turn(at, [claimed(call)]));
    return `trn_${at}#0`;
  };
  const end = (call: string, under: string): void => take(input(next, completed(call, under)));
  take(opening(10));
  return { slot, claim, end, claims: { a: claim('a'), b: claim('b') } };
}

const sealed = (draft: Draft<InputEventType>) => sealEvent(saltOf(session), draft);
const outcome = (call: string) => sealed(completed(call, ''));
const timer = sealed(event('timer.fired', { timer: 'one', record: 'trn_1', index: 0, dueAtMs: 1 }));

/** So many calls of a session that is on probation, each with an outcome that goes by itself and is decided. */
function live(probation: Probation, { slot, claim, end }: ReturnType<typeof begun>, calls: number) {
  return Array.from({ length: calls }, (_, n) => {
    const under = claim(`new_${n}`);
    const held = probation.holds(slot, outcome(`new_${n}`));
    end(`new_${n}`, under);
    return held;
  });
}

test('only sessions that were there at a takeover are held', () => {
  const { slot } = begun();
  expect(new Probation().holds(slot, outcome('a'))).toBe(false);
  const probation = new Probation();
  probation.begin({ position: 10, before: 0 });
  expect(probation.holds(slot, outcome('a'))).toBe(false);
  probation.begin({ position: 11, before: 0 });
  expect([probation.holds(slot, outcome('a')), probation.holds(slot, timer)]).toEqual([true, true]);
});

test('a session is trusted again when what was open has ended and enough outcomes did no harm', () => {
  const world = begun();
  const probation = new Probation();
  probation.begin({ position: 20, before: 5 });
  expect(live(probation, world, limits.trustedOutcomes + 2)).not.toContain(false);
  world.end('a', world.claims.a);
  expect(probation.holds(world.slot, timer)).toBe(true);
  world.end('b', world.claims.b);
  expect(probation.holds(world.slot, timer)).toBe(false);
  expect(live(probation, world, 2)).toEqual([false, false]);
});

test('outcomes that were not decided yet say nothing of their session', () => {
  const world = begun();
  const probation = new Probation();
  probation.begin({ position: 20, before: 5 });
  probation.holds(world.slot, timer);
  world.end('a', world.claims.a);
  world.end('b', world.claims.b);
  const unders = Array.from({ length: limits.trustedOutcomes }, (_, n) => world.claim(`n${n}`));
  for (const [n] of unders.entries())
    expect(probation.holds(world.slot, outcome(`n${n}`))).toBe(true);
  expect(probation.holds(world.slot, timer)).toBe(true);
  for (const [n, under] of unders.entries()) world.end(`n${n}`, under);
  expect(probation.holds(world.slot, timer)).toBe(false);
});

test('a session that has lived through a takeover before is held for good', () => {
  const world = begun();
  const probation = new Probation();
  probation.begin({ position: 20, before: 12 });
  world.end('a', world.claims.a);
  world.end('b', world.claims.b);
  expect(live(probation, world, 20)).not.toContain(false);
});

test('the next takeover begins anew', () => {
  const world = begun();
  const probation = new Probation();
  probation.begin({ position: 20, before: 5 });
  world.end('a', world.claims.a);
  world.end('b', world.claims.b);
  live(probation, world, limits.trustedOutcomes);
  expect(probation.holds(world.slot, timer)).toBe(false);
  probation.begin({ position: 90, before: 5 });
  expect(probation.holds(world.slot, timer)).toBe(true);
});
