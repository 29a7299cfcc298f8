import { type Dice, diceOf } from './dice.ts';
import { disturbances } from './disturbances.ts';
import { furtherGoals } from './further-goals.ts';
import { cancelValue, type GoalToSend, goalsOf } from './goals.ts';
import { beginnings, groupingOf } from './groupings.ts';
import { poisonings } from './poison.ts';
import { releases } from './releases.ts';
import type { Action, AppendRates, Schedule } from './schedule-shape.ts';

const skewOf = (dice: Dice): number => (dice.chance(0.3) ? dice.between(-3_000, 3_000) : 0);

function startings(dice: Dice, calmAtMs: number, store: boolean): Action[] {
  const mixed = dice.chance(0.6);
  const start = (atMs: number, services: readonly string[]): Action => {
    const release = mixed ? dice.pick(releases) : 'a';
    return { atMs, do: 'start', services, skewMs: skewOf(dice), release };
  };
  const begin = dice.pick(beginnings).map((services, index) => start(index, services));
  const more = Array.from({ length: dice.between(2, 5) }, () =>
    start(dice.between(500, calmAtMs - 1), groupingOf(dice)),
  );
  const stores = Array.from({ length: store ? dice.between(2, 3) : 0 }, (_, index) =>
    start(index === 0 ? 5 : dice.between(500, calmAtMs - 1), dice.pick(storeGroupings)),
  );
  return [...begin, ...more, ...stores];
}

const storeGroupings = [['event-store'], ['event-store'], ['event-store', 'tool-runner']];

/** Goals are cancelled as an answer comes, and one is told everything again after its end. */
function races(dice: Dice, goals: readonly GoalToSend[]): Action[] {
  const sent = goals.filter(({ kind }) => kind === 'goal');
  const raced = sent.flatMap(({ atMs, goalId }): Action[] => {
    if (!dice.chance(0.2)) return [];
    const failed = dice.chance(0.7);
    return [{ atMs: atMs + dice.between(0, 2_500), do: 'race', goalId, failed }];
  });
  const { atMs, goalId, value } = dice.pick(sent);
  return [...raced, { atMs, do: 'after-end', goalId, value }];
}

const sendings = (goals: readonly GoalToSend[]): Action[] =>
  goals.map(({ atMs, value, goalId, kind }) => ({ atMs, do: 'send', value, goalId, kind }));

function ratesOf(dice: Dice): AppendRates {
  const level = dice.pick([0.2, 0.6, 1, 2, 4]);
  const rate = (most: number): number => dice.fraction() * most * level;
  const [lost, lostAck, delayed] = [rate(0.06), rate(0.06), rate(0.06)];
  return { lost, lostAck, delayed, late: rate(0.03), refused: rate(0.02) };
}

/** Dice of their own: what is drawn elsewhere stays as it is. */
function gaps(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('gaps', seed);
  return Array.from({ length: dice.between(0, 1) }, (): Action => {
    const atMs = dice.between(800, calmAtMs - 1);
    return { atMs, do: 'lose-record', victim: dice.fraction(), forMs: dice.between(500, 4_000) };
  });
}

/** Two hosts lose their places one after the other: partitions go and come back while effects run. */
function swaps(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('swaps', seed);
  const short = { do: 'expel', forMs: 150, deafMs: 0, dies: false } as const;
  return Array.from({ length: dice.between(0, 2) }, () => {
    const atMs = dice.between(800, calmAtMs - 1);
    const victim = dice.fraction();
    const laterMs = Math.min(calmAtMs - 1, atMs + dice.between(300, 2_500));
    return [
      { atMs, victim, ...short },
      { atMs: laterMs, victim: (victim + 0.5) % 1, ...short },
    ];
  }).flat();
}

/** A goal whose plan is rejected. */
function rejectedGoal(dice: Dice, goalId: string, calmAtMs: number) {
  const value = { id: goalId, goal: 'Rejected.', plan: 'storm', agentPools: ['analysis'] };
  const atMs = dice.between(0, calmAtMs - 2_000);
  return { atMs, do: 'send', value, goalId, kind: 'goal' } as const;
}

/** Such goals, cancelled so that the cancel arrives just then. */
function rejections(seed: number, at: { calmAtMs: number; latencyMs: number }): Action[] {
  const dice = diceOf('rejections', seed);
  if (!dice.chance(0.4)) return [];
  const goalId = 'goal-rejected';
  const goal = rejectedGoal(dice, goalId, at.calmAtMs);
  // The goal's way to its plan is that much longer than the cancel's to the session.
  const laterMs = at.latencyMs * (0.8 + 1.6 * dice.fraction());
  const cancel = cancelValue(goalId);
  if (dice.chance(0.6)) {
    // Most of the time one host plans and supervises: of several goals some meet two.
    const more = [2, 3].map((index) => rejectedGoal(dice, `${goalId}-${index}`, at.calmAtMs));
    return [goal, ...more].flatMap((sent): Action[] => [
      { atMs: sent.atMs, do: 'cancel-rejected', goalId: sent.goalId },
      sent,
    ]);
  }
  return [goal, { atMs: goal.atMs + laterMs, do: 'send', value: cancel, goalId, kind: 'cancel' }];
}

/** A goal whose agents have less time than they may need: some end while they wait, some just before. */
function hurries(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('hurries', seed);
  if (!dice.chance(0.2)) return [];
  const goalId = 'goal-hasty';
  const inputs = { waitMs: dice.pick([0, 700, 1_000, 3_000]) };
  const value = { id: goalId, goal: 'Hasty.', plan: 'hasty', inputs };
  return [{ atMs: dice.between(0, calmAtMs - 2_000), do: 'send', value, goalId, kind: 'goal' }];
}

/** Goals whose branches run in child sessions, on other partitions than their parents; some have a budget, or are stopped. */
function families(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('families', seed);
  if (!dice.chance(0.4)) return [];
  return Array.from({ length: dice.between(1, 2) }, (_, index): Action[] => {
    const goalId = `goal-wide-${index}`;
    const names = ['a', 'b', 'c', 'd', 'e'].slice(0, dice.between(2, 5));
    const limits = dice.pick([
      {},
      {},
      { budgetNanoUsd: dice.pick([4_000, 9_000, 20_000]) },
      { timeoutMs: dice.between(1_000, 9_000) },
    ]);
    const priority = dice.pick(['high', 'normal']);
    const inputs = { names };
    const value = { id: goalId, goal: 'Wide.', plan: 'wide', inputs, priority, ...limits };
    const atMs = dice.between(0, calmAtMs - 2_000);
    const goal = { atMs, do: 'send', value, goalId, kind: 'goal' } as const;
    if (!dice.chance(0.3)) return [goal];
    const cancel = { do: 'send', value: cancelValue(goalId), goalId, kind: 'cancel' } as const;
    return [goal, { atMs: atMs + dice.between(1, 4_000), ...cancel }];
  }).flat();
}

/** Janitors, of which one may come after the other died. Dice of their own: what is drawn elsewhere stays as it is. */
function janitors(
  seed: number,
  calmAtMs: number,
): Readonly<{ starts: Action[]; retentionMs?: number }> {
  const dice = diceOf('janitors', seed);
  if (!dice.chance(0.35)) return { starts: [] };
  const start = (atMs: number): Action => {
    return { atMs, do: 'start', services: ['janitor'], skewMs: skewOf(dice) };
  };
  const first = start(dice.between(300, 2_000));
  const more = dice.chance(0.5) ? [start(dice.between(2_000, calmAtMs - 1))] : [];
  return { starts: [first, ...more], retentionMs: dice.pick([250, 1_000, 4_000]) };
}

/** Dice of their own: what is drawn elsewhere stays as it is. */
function hopelessOf(seed: number): number {
  const dice = diceOf('hopeless', seed);
  return dice.chance(0.25) ? 0.2 : 0;
}

/** Dice of their own: what is drawn elsewhere stays as it is. */
function deniedOf(seed: number): number {
  const dice = diceOf('denied', seed);
  return dice.chance(0.25) ? dice.pick([0.03, 0.15]) : 0;
}

/** Rows cost as much as all the rest: every fifth seed or so has event stores. */
const storeShare = 0.2;

/** The schedule of a seed. */
export function scheduleOf(seed: number): Schedule {
  const dice = diceOf('schedule', seed);
  const calmAtMs = dice.between(8_000, 26_000);
  const store = dice.chance(storeShare);
  const goals = goalsOf(dice, { count: dice.between(5, 7), untilMs: calmAtMs - 2_000 });
  const drawn = [
    ...startings(dice, calmAtMs, store),
    ...sendings(goals),
    ...races(dice, goals),
    ...disturbances(dice, calmAtMs),
    ...gaps(seed, calmAtMs),
    ...swaps(seed, calmAtMs),
    ...poisonings(seed, calmAtMs),
    ...hurries(seed, calmAtMs),
    ...families(seed, calmAtMs),
    ...furtherGoals(seed, calmAtMs),
  ];
  const { starts, ...retention } = janitors(seed, calmAtMs);
  const partitions = dice.between(1, 2);
  const housekeepingMs = dice.pick([300, 700, 1_000]);
  const sessionTimeoutMs = dice.pick([100, 1_000, 3_000]);
  const latencyMs = dice.pick([0.3, 1, 4]);
  const actions = [...drawn, ...rejections(seed, { calmAtMs, latencyMs }), ...starts];
  return {
    ...{ seed, partitions, housekeepingMs, sessionTimeoutMs, latencyMs },
    rates: ratesOf(dice),
    trouble: dice.pick([0.1, 0.25, 0.5]),
    actions: actions.sort((a, b) => a.atMs - b.atMs),
    calmAtMs,
    freshHost: dice.chance(0.5),
    burstMs: dice.pick([0, 0, 100, 500, 1_000]),
    store,
    hopeless: hopelessOf(seed),
    denied: deniedOf(seed),
    ...retention,
  };
}
