import type { JsonObject } from '../../../schemas/json.ts';
import { type Dice, diceOf } from './dice.ts';
import { type GoalToSend, goalsOf } from './goals.ts';

/**
 * What happens in one run, as data: from a seed, but a schedule with parts left out runs as well.
 * `victim` in [0, 1) chooses among the hosts that are up when its time has come.
 */

export type Action = Readonly<{ atMs: number }> &
  (
    | Readonly<{ do: 'send'; value: JsonObject; goalId: string; kind: string }>
    | Readonly<{ do: 'start'; services: readonly string[]; skewMs: number }>
    | Readonly<{ do: 'crash'; victim: number }>
    /** Dies a little after its next appends to a session log: before, between or after the acknowledgement. */
    | Readonly<{ do: 'crash-appending'; victim: number; appends: number; afterMs: number }>
    | Readonly<{ do: 'stop'; victim: number }>
    /** Loses its place in its groups without knowing; `deafMs`: what it reads comes that late. */
    | Readonly<{ do: 'expel'; victim: number; forMs: number; deafMs: number; dies: boolean }>
    /** Stands still as under SIGSTOP; its groups give it up if that takes too long. */
    | Readonly<{ do: 'freeze'; victim: number; forMs: number }>
    | Readonly<{ do: 'deafen'; victim: number; forMs: number }>
    | Readonly<{ do: 'silence'; victim: number; forMs: number }>
    | Readonly<{ do: 'rebalance'; victim: number }>
    | Readonly<{ do: 'checkpoint'; victim: number }>
    | Readonly<{ do: 'broker-away'; forMs: number }>
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
}>;

const groupings: readonly (readonly string[])[] = [
  ['all'],
  ['intake', 'aggregator', 'planner'],
  ['intake'],
  ['planner', 'supervisor'],
  ['supervisor'],
  ['worker-pool'],
  ['worker-pool:test', 'tool-guard', 'tool-runner'],
  ['tool-runner'],
  ['tool-guard', 'sandbox-executor'],
  ['model-gateway', 'sandbox-executor'],
  ['model-gateway', 'worker-pool', 'aggregator'],
  ['supervisor', 'worker-pool', 'tool-guard', 'tool-runner', 'intake'],
];

/** Hosts that are there from the start; together they run everything. */
const beginnings: readonly (readonly (readonly string[])[])[] = [
  [['all']],
  [['all'], ['all']],
  [['all'], ['all'], ['supervisor', 'worker-pool']],
  [
    ['intake', 'planner', 'supervisor', 'aggregator'],
    ['worker-pool', 'tool-guard'],
    ['tool-runner', 'sandbox-executor', 'model-gateway'],
  ],
  [
    ['intake', 'planner', 'supervisor', 'aggregator', 'model-gateway'],
    ['worker-pool', 'tool-guard', 'tool-runner', 'sandbox-executor'],
    ['worker-pool', 'tool-guard', 'tool-runner', 'sandbox-executor'],
  ],
];

function disturbance(dice: Dice, atMs: number): Action {
  const victim = dice.fraction();
  const kind = dice.between(0, 15);
  const shortMs = dice.between(50, 3_000);
  const longMs = dice.between(500, 14_000);
  if (kind <= 1) return { atMs, do: 'crash', victim };
  if (kind <= 3) {
    const appends = dice.between(1, 12);
    return { atMs, do: 'crash-appending', victim, appends, afterMs: dice.fraction() * 4 };
  }
  if (kind === 4) return { atMs, do: 'stop', victim };
  if (kind <= 7) {
    const deafMs = dice.chance(0.6) ? shortMs : 0;
    return { atMs, do: 'expel', victim, forMs: longMs, deafMs, dies: dice.chance(0.4) };
  }
  if (kind === 8) return { atMs, do: 'freeze', victim, forMs: longMs };
  if (kind === 9) return { atMs, do: 'deafen', victim, forMs: shortMs };
  if (kind === 10) return { atMs, do: 'silence', victim, forMs: longMs };
  if (kind <= 12) return { atMs, do: 'rebalance', victim };
  if (kind <= 14) return { atMs, do: 'checkpoint', victim };
  return { atMs, do: 'broker-away', forMs: dice.between(50, 2_500) };
}

const skewOf = (dice: Dice): number => (dice.chance(0.3) ? dice.between(-3_000, 3_000) : 0);

function startings(dice: Dice, calmAtMs: number): Action[] {
  const begin = dice.pick(beginnings).map((services, index): Action => {
    return { atMs: index, do: 'start', services, skewMs: skewOf(dice) };
  });
  const more = Array.from({ length: dice.between(2, 5) }, (): Action => {
    const atMs = dice.between(500, calmAtMs - 1);
    return { atMs, do: 'start', services: dice.pick(groupings), skewMs: skewOf(dice) };
  });
  return [...begin, ...more];
}

const sendings = (goals: readonly GoalToSend[]): Action[] =>
  goals.map(({ atMs, value, goalId, kind }) => ({ atMs, do: 'send', value, goalId, kind }));

/** Every schedule has at least one crash and one zombie, whatever else it draws. */
function disturbances(dice: Dice, calmAtMs: number): Action[] {
  const when = (): number => dice.between(800, calmAtMs - 1);
  const most = dice.pick([8, 12, 12, 30]);
  const drawn = Array.from({ length: dice.between(4, most) }, () => disturbance(dice, when()));
  const crash: Action = { atMs: when(), do: 'crash', victim: dice.fraction() };
  const forMs = dice.between(1_000, 9_000);
  const deafMs = dice.between(100, 2_000);
  const zombie: Action = {
    ...{ atMs: when(), do: 'expel', victim: dice.fraction() },
    ...{ forMs, deafMs, dies: dice.chance(0.3) },
  };
  const compared = Array.from({ length: 4 }, (): Action => {
    return { atMs: when(), do: 'compare', victim: dice.fraction() };
  });
  return [...drawn, crash, zombie, ...compared];
}

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

/** The schedule of a seed. */
export function scheduleOf(seed: number): Schedule {
  const dice = diceOf('schedule', seed);
  const calmAtMs = dice.between(8_000, 26_000);
  const goals = goalsOf(dice, { count: dice.between(5, 7), untilMs: calmAtMs - 2_000 });
  const actions = [
    ...startings(dice, calmAtMs),
    ...sendings(goals),
    ...disturbances(dice, calmAtMs),
    ...gaps(seed, calmAtMs),
    ...swaps(seed, calmAtMs),
  ];
  return {
    seed,
    partitions: dice.between(1, 2),
    housekeepingMs: dice.pick([300, 700, 1_000]),
    sessionTimeoutMs: dice.pick([100, 1_000, 3_000]),
    latencyMs: dice.pick([0.3, 1, 4]),
    rates: ratesOf(dice),
    trouble: dice.pick([0.1, 0.25, 0.5]),
    actions: actions.sort((a, b) => a.atMs - b.atMs),
    calmAtMs,
    freshHost: dice.chance(0.5),
  };
}
