import { type Dice, diceOf } from './dice.ts';
import { isHeavy, lightGoal } from './goals.ts';
import { scheduleOf } from './schedule.ts';
import type { Action, Schedule } from './schedule-shape.ts';

/**
 * Brief schedules: what a long one holds, less of it and closer together. Most violations need few goals and few faults
 * that meet, and of brief schedules there are many for the time of one long one; the short ones among them hold goals of
 * a few steps only. What needs a long life shows in the long.
 */
type Size = Readonly<{
  /** Names its dice: what is drawn for one size leaves the others as they are. */
  name: string;
  /** The calm comes in this time, at the earliest and at the latest. */
  calmMs: readonly [number, number];
  /** Of everything that disturbs so much is left; there are fewer goals and less time, so it is denser than it was. */
  faultShare: number;
  /** So many of the five goals are the long one's, and of them so many take long; the others are light. */
  drawnMax: number;
  heavyKept: number;
  partitionsMax: number;
  /** So many hosts may come later than three need. */
  laterMax: number;
  /** Whether it has event stores, where the long one has. */
  store: boolean;
}>;

const briefSize: Size = {
  ...{ name: 'brief', calmMs: [2_500, 6_000], faultShare: 0.3 },
  ...{ drawnMax: 5, heavyKept: 1, partitionsMax: 2, laterMax: 2, store: true },
};
const shortSize: Size = {
  ...{ name: 'short', calmMs: [1_200, 2_400], faultShare: 0.2 },
  ...{ drawnMax: 2, heavyKept: 0, partitionsMax: 1, laterMax: 0, store: false },
};

/** So many of all seeds are long, and of the others so many are short. */
const longShare = 0.04;
const shortShare = 0.75;
const goalsKept = 5;
const hostsKept = 3;
/** Hosts that start by then are there from the beginning. */
const beginningMs = 10;

type Sent = Extract<Action, { goalId: string }>;
type Closer = (atMs: number) => number;
type Lessening = Readonly<{ dice: Dice; size: Size; closer: Closer }>;

const ofGoal = (action: Action): action is Sent => 'goalId' in action;

/** At most `count` of them, drawn, in the order that they have. */
function drawn<T>(dice: Dice, from: readonly T[], count: number): readonly T[] {
  const left = [...from];
  while (left.length > count) left.splice(dice.between(0, left.length - 1), 1);
  return left;
}

/** Of few goals that take long, and of more that do not, all that is said; the time between stays as it was. */
function goalsLeft(
  actions: readonly Action[],
  { dice, size: { drawnMax, heavyKept }, closer }: Lessening,
): Sent[] {
  const said = actions.filter(ofGoal);
  const published = said.filter((one) => one.do === 'send' && !('cancel' in one.value));
  const idsOf = (wanted: (one: Sent) => boolean): readonly string[] => [
    ...new Set(published.filter(wanted).map(({ goalId }) => goalId)),
  ];
  const heavy = idsOf((one) => 'value' in one && isHeavy(one.value));
  const light = idsOf(({ goalId }) => !heavy.includes(goalId));
  const kept = [...drawn(dice, heavy, heavyKept), ...drawn(dice, light, drawnMax - heavyKept)];
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

const ofStore = (services: readonly string[]): boolean => services.includes('event-store');

function startsLeft(
  actions: readonly Action[],
  { dice, size: { laterMax, store }, closer }: Lessening,
): Action[] {
  const starts = actions.filter((one) => one.do === 'start' && (store || !ofStore(one.services)));
  const first = starts.filter(({ atMs }) => atMs < beginningMs);
  const later = starts.filter(({ atMs }) => atMs >= beginningMs);
  const more = drawn(dice, later, Math.max(hostsKept - first.length, dice.between(0, laterMax)));
  return [...first, ...more.map((one) => ({ ...one, atMs: closer(one.atMs) }))];
}

function faultsLeft(
  actions: readonly Action[],
  { dice, size: { faultShare }, closer }: Lessening,
): Action[] {
  const faults = actions.filter((one) => !ofGoal(one) && one.do !== 'start');
  return faults
    .filter(() => dice.chance(faultShare))
    .map((one) => ({ ...one, atMs: closer(one.atMs) }));
}

function lessOf(long: Schedule, size: Size): Schedule {
  const dice = diceOf(size.name, long.seed);
  const calmAtMs = dice.between(...size.calmMs);
  const closer: Closer = (atMs) => Math.floor((atMs * calmAtMs) / long.calmAtMs);
  const lessening = { dice, size, closer };
  const goals = goalsLeft(long.actions, lessening);
  const actions = [
    ...goals,
    ...goalsMore(dice, goals, calmAtMs),
    ...startsLeft(long.actions, lessening),
    ...faultsLeft(long.actions, lessening),
  ].map((one) => ({ ...one, atMs: Math.min(one.atMs, calmAtMs - 1) }));
  const sorted = actions.sort((a, b) => a.atMs - b.atMs);
  const partitions = Math.min(long.partitions, size.partitionsMax);
  return {
    ...long,
    actions: sorted,
    calmAtMs,
    partitions,
    store: size.store && long.store === true,
  };
}

/** The schedule of a seed as `npm run simulate` plays it: a short or a brief one, or now and then a long one. */
export function schedulePlayed(seed: number): Schedule {
  const long = scheduleOf(seed);
  const dice = diceOf('size', seed);
  if (dice.chance(longShare)) return long;
  return lessOf(long, dice.chance(shortShare) ? shortSize : briefSize);
}
