import type { JsonObject } from '../../../schemas/json.ts';
import { type Dice, diceOf } from './dice.ts';
import { disturbances } from './disturbances.ts';
import { furtherGoals } from './further-goals.ts';
import { cancelValue, type GoalToSend, goalsOf } from './goals.ts';
import { beginnings, groupingOf } from './groupings.ts';
import { poisonings } from './poison.ts';
import { type Release, releases } from './releases.ts';
import type { StrangeKind } from './strange-records.ts';

/**
 * What happens in one run, as data: from a seed, but a schedule with parts left out runs as well.
 * `victim` in [0, 1) chooses among the hosts that are up when its time has come.
 */

export type Action = Readonly<{ atMs: number }> &
  /** `kills`: the service that dies when it decides something in the goal's session. */
  (
    | Readonly<{ do: 'send'; value: JsonObject; goalId: string; kind: string; kills?: string }>
    | Readonly<{ do: 'start'; services: readonly string[]; skewMs: number; release?: Release }>
    | Readonly<{ do: 'crash'; victim: number }>
    /** Dies when so many more requests went out, or answers, records and timers came: at any await. */
    | Readonly<{ do: 'crash-anywhere'; victim: number; passes: number }>
    /** Dies right after its next write to another log, before its own log knows of it. */
    | Readonly<{ do: 'crash-delivering'; victim: number; afterMs: number }>
    /** Dies a little after its next appends to a session log: before, between or after the acknowledgement. */
    | Readonly<{ do: 'crash-appending'; victim: number; appends: number; afterMs: number }>
    | Readonly<{ do: 'stop'; victim: number }>
    /** Loses its place in its groups without knowing; `deafMs`: what it reads comes that late. */
    | Readonly<{ do: 'expel'; victim: number; forMs: number; deafMs: number; dies: boolean }>
    /** Stands still as under SIGSTOP; its groups give it up if that takes too long. */
    | Readonly<{ do: 'freeze'; victim: number; forMs: number }>
    /** So does the next host that runs an effect that must not run twice, until somebody counts the effect as lost. */
    | Readonly<{ do: 'freeze-running'; forMs: number }>
    | Readonly<{ do: 'deafen'; victim: number; forMs: number }>
    | Readonly<{ do: 'silence'; victim: number; forMs: number }>
    | Readonly<{ do: 'rebalance'; victim: number }>
    | Readonly<{ do: 'checkpoint'; victim: number }>
    /** Writes its marks and commits its offsets, due or not. */
    | Readonly<{ do: 'commit'; victim: number }>
    /** The wall clock of its machine is set, forward or back. */
    | Readonly<{ do: 'jump'; victim: number; byMs: number }>
    | Readonly<{ do: 'broker-away'; forMs: number }>
    | Readonly<{ do: 'blobs-away'; forMs: number }>
    /** Records of a partition come again, as requests that were long under way. `where` in [0, 1) chooses it. */
    | Readonly<{ do: 'echo'; where: number; count: number }>
    /** A record of another program, or one with our headers that nobody can read. */
    | Readonly<{ do: 'strange'; where: number; kind: StrangeKind }>
    /** The goal is cancelled in the moment in which an answer for it is on its way; `failed`: only one that failed. */
    | Readonly<{ do: 'race'; goalId: string; failed?: boolean }>
    /** The goal is cancelled while the rejection of its plan is on its way, and that arrives between cancel and answer. */
    | Readonly<{ do: 'cancel-rejected'; goalId: string }>
    /** When the session of the goal ends, all that it was told comes again. */
    | Readonly<{ do: 'after-end'; goalId: string; value: JsonObject }>
    | Readonly<{ do: 'compare'; victim: number }>
    /** A record is missing in what it reads next; it is started anew after a while. */
    | Readonly<{ do: 'lose-record'; victim: number; forMs: number }>
  );

/** Rates of faults of single appends. */
export type AppendRates = Readonly<{
  lost: number;
  lostAck: number;
  delayed: number;
  late: number;
  refused: number;
}>;

export type Schedule = Readonly<{
  seed: number;
  partitions: number;
  housekeepingMs: number;
  /** After how long a group gives up a member that crashed or stands still. */
  sessionTimeoutMs: number;
  latencyMs: number;
  rates: AppendRates;
  /** Share of tool and model calls that go wrong before the calm. */
  trouble: number;
  actions: readonly Action[];
  /** From here on nothing goes wrong any more, and everything must end. */
  calmAtMs: number;
  /** Whether a fresh host of all services comes with the calm. */
  freshHost: boolean;
  /** Answers of tools and models arrive at whole multiples of this: many in one millisecond. 0 or none: they do not. */
  burstMs?: number;
  /** Whether there are event stores, over one table. */
  store?: boolean;
  /** Share of sessions of which the broker takes one record never. */
  hopeless?: number;
  /** Share of requests with nothing but inputs or results that are not allowed just then. */
  denied?: number;
  /** Janitors delete what is older than this and needed by nobody. */
  retentionMs?: number;
}>;

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
