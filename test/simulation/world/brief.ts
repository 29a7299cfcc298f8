import { type Dice, diceOf } from './dice.ts';
import { isHeavy, lightGoal } from './goals.ts';
import { scheduleOf } from './schedule.ts';
import type { Action, Schedule } from './schedule-shape.ts';

/**
 * Brief schedules: what a long one holds, less of it and closer together. Most violations need few goals and few faults
 * that meet, and of brief schedules there are many for the time of one long one. What needs a long life shows in the long.
 */

/** So many of all seeds are long. */
const longShare = 0.08;
/** Of everything that disturbs so much is left; there are fewer goals and less time, so it is denser than it was. */
const faultShare = 0.3;
const goalsKept = 5;
const heavyKept = 1;
const hostsKept = 3;
/** Hosts that start by then are there from the beginning. */
const beginningMs = 10;

type Sent = Extract<Action, { goalId: string }>;
type Closer = (atMs: number) => number;

const ofGoal = (action: Action): action is Sent => 'goalId' in action;

/** At most `count` of them, drawn, in the order that they have. */
function drawn<T>(dice: Dice, from: readonly T[], count: number): readonly T[] {
  const left = [...from];
  while (left.length > count) left.splice(dice.between(0, left.length - 1), 1);
  return left;
}

/** Of few goals that take long, and of more that do not, all that is said; the time between stays as it was. */
function goalsLeft(dice: Dice, actions: readonly Action[], closer: Closer): Sent[] {
  const said = actions.filter(ofGoal);
  const published = said.filter((one) => one.do === 'send' && !('cancel' in one.value));
  const idsOf = (wanted: (one: Sent) => boolean): readonly string[] => [
    ...new Set(published.filter(wanted).map(({ goalId }) => goalId)),
  ];
  const heavy = idsOf((one) => 'value' in one && isHeavy(one.value));
  const light = idsOf(({ goalId }) => !heavy.includes(goalId));
  const kept = [...drawn(dice, heavy, heavyKept), ...drawn(dice, light, goalsKept - heavyKept)];
  return kept.flatMap((id) => {
    const own = said.filter(({ goalId }) => goalId === id);
    const firstMs = own[0]?.atMs ?? 0;
    return own.map((one) => ({ ...one, atMs: closer(firstMs) + one.atMs - firstMs }));
  });
}

/** Light ones, where what was drawn has too few. */
function goalsMore(dice: Dice, known: readonly Sent[], calmAtMs: number): Action[] {
  const missing = goalsKept - new Set(known.map(({ goalId }) => goalId)).size;
  return Array.from({ length: Math.max(0, missing) }, (_, index) => {
    const goalId = `goal-light-${index}`;
    const atMs = dice.between(0, calmAtMs - 1_000);
    return { atMs, do: 'send', value: lightGoal(dice, goalId), goalId, kind: 'goal' };
  });
}

function startsLeft(dice: Dice, actions: readonly Action[], closer: Closer): Action[] {
  const starts = actions.filter((one) => one.do === 'start');
  const first = starts.filter(({ atMs }) => atMs < beginningMs);
  const later = starts.filter(({ atMs }) => atMs >= beginningMs);
  const more = drawn(dice, later, Math.max(hostsKept - first.length, dice.between(0, 2)));
  return [...first, ...more.map((one) => ({ ...one, atMs: closer(one.atMs) }))];
}

function faultsLeft(dice: Dice, actions: readonly Action[], closer: Closer): Action[] {
  const faults = actions.filter((one) => !ofGoal(one) && one.do !== 'start');
  return faults
    .filter(() => dice.chance(faultShare))
    .map((one) => ({ ...one, atMs: closer(one.atMs) }));
}

/** A brief one of a long one. */
export function briefOf(long: Schedule): Schedule {
  const dice = diceOf('brief', long.seed);
  const calmAtMs = dice.between(2_500, 6_000);
  const closer: Closer = (atMs) => Math.floor((atMs * calmAtMs) / long.calmAtMs);
  const goals = goalsLeft(dice, long.actions, closer);
  const actions = [
    ...goals,
    ...goalsMore(dice, goals, calmAtMs),
    ...startsLeft(dice, long.actions, closer),
    ...faultsLeft(dice, long.actions, closer),
  ].map((one) => ({ ...one, atMs: Math.min(one.atMs, calmAtMs - 1) }));
  return { ...long, actions: actions.sort((a, b) => a.atMs - b.atMs), calmAtMs };
}

/** The schedule of a seed as `npm run simulate` plays it: a brief one, or now and then a long one. */
export function schedulePlayed(seed: number): Schedule {
  const long = scheduleOf(seed);
  return diceOf('size', seed).chance(longShare) ? long : briefOf(long);
}
