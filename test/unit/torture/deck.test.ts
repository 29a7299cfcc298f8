import { expect, test } from 'vitest';
import { diceOf } from '../../simulation/world/dice.ts';
import { Deck } from '../../torture/deck.ts';
import { bag, type Disturbance } from '../../torture/disturbance.ts';

function drawn(count: number, can: (kind: Disturbance) => boolean, isQuiet: boolean) {
  const deck = new Deck(diceOf(1, 'deck'));
  const begun: Disturbance[] = [];
  for (let turn = 0; turn < count; turn++)
    deck.next((kind) => {
      if (!can(kind)) return false;
      begun.push(kind);
      return true;
    }, isQuiet);
  return begun;
}

const kinds = new Set(bag).size;

test('each kind comes once first, and then as often as the bag says', () => {
  const begun = drawn(kinds + bag.length, () => true, true);
  expect(new Set(begun.slice(0, kinds)).size).toBe(kinds);
  expect(begun.slice(kinds).sort()).toEqual([...bag].sort());
});

test('a kind that can never be done keeps no other from going on', () => {
  const begun = drawn(500, (kind) => kind !== 'member joins', true);
  expect(begun.length).toBeGreaterThan(400);
});

test('what cannot be done while something goes on is put off, not dropped', () => {
  expect(drawn(500, (kind) => kind !== 'member joins', false)).toHaveLength(kinds - 1);
});

test('as many members join as leave, so that neither has to wait for ever', () => {
  const count = (kind: Disturbance): number => bag.filter((one) => one === kind).length;
  expect(count('member joins')).toBe(count('member leaves'));
});
