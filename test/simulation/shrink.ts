import type { Action, Schedule } from './world/schedule-shape.ts';

/**
 * The smallest schedule that it can find that still fails. Deterministic: the same schedule and the same answers give
 * the same smaller one, unless the time runs out first.
 */

export type ShrinkParts = Readonly<{
  /** Whether a schedule still breaks the same rule. */
  fails(schedule: Schedule): Promise<boolean>;
  runsMax: number;
  /** No new run after so long, in milliseconds of `nowMs`. */
  timeMsMax: number;
  nowMs(): number;
}>;

export type Shrunk = Readonly<{ schedule: Schedule; runs: number }>;

/** What is left out together: a goal with its repeats and cancels, or one other action. */
type Unit = readonly Action[];

function unitsOf(actions: readonly Action[]): Unit[] {
  const goals = new Map<string, Action[]>();
  const units: Unit[] = [];
  for (const action of actions) {
    if (action.do !== 'send') {
      units.push([action]);
      continue;
    }
    const known = goals.get(action.goalId);
    if (known !== undefined) {
      known.push(action);
      continue;
    }
    const unit = [action];
    goals.set(action.goalId, unit);
    units.push(unit);
  }
  return units;
}

const inOrder = (units: readonly Unit[]): readonly Action[] =>
  units.flat().sort((a, b) => a.atMs - b.atMs);

type Change = Partial<Schedule>;

/** Ways to make a schedule simpler that leave its actions, the boldest first. */
function simpler({ rates, actions, ...rest }: Schedule): Change[] {
  const none = Object.fromEntries(Object.keys(rates).map((name) => [name, 0])) as typeof rates;
  const single = Object.entries(rates)
    .filter(([, rate]) => rate > 0)
    .map(([name]) => ({ rates: { ...rates, [name]: 0 } }));
  const unskewed = actions.map((one) => (one.do === 'start' ? { ...one, skewMs: 0 } : one));
  const isSkewed = actions.some((one) => one.do === 'start' && one.skewMs !== 0);
  const endMs = Math.max(0, ...actions.map(({ atMs }) => atMs)) + 1_000;
  const changes: (Change | false)[] = [
    single.length > 0 && { rates: none },
    rest.trouble > 0 && { trouble: 0 },
    isSkewed && { actions: unskewed },
    rest.store === true && { store: false },
    (rest.burstMs ?? 0) > 0 && { burstMs: 0 },
    rest.partitions > 1 && { partitions: 1 },
    rest.freshHost && { freshHost: false },
    endMs < rest.calmAtMs && { calmAtMs: endMs },
    ...(single.length > 1 ? single : []),
  ];
  return changes.filter((one) => one !== false);
}

/** Leaps that save many steps where they succeed: no fault at all, one goal, hosts and goals alone. */
function leaps(schedule: Schedule): Change[] {
  const { actions } = schedule;
  const plain = actions.filter((one) => one.do === 'start' || one.do === 'send');
  const first = plain.find((one) => one.do === 'send');
  const start = plain.find((one) => one.do === 'start');
  const simple = Object.assign({}, ...simpler(schedule).reverse()) as Change;
  return [
    { ...simple, actions: [start, first].filter((one) => one !== undefined) },
    { ...simple, actions: plain },
    simple,
    { actions: plain },
  ];
}

class Shrinking {
  runs = 0;
  best: Schedule;
  readonly #parts: ShrinkParts;
  readonly #endMs: number;

  constructor(schedule: Schedule, parts: ShrinkParts) {
    this.best = schedule;
    this.#parts = parts;
    this.#endMs = parts.nowMs() + parts.timeMsMax;
  }

  get #over(): boolean {
    return this.runs >= this.#parts.runsMax || this.#parts.nowMs() >= this.#endMs;
  }

  async #keep(change: Change): Promise<boolean> {
    if (this.#over) return false;
    this.runs += 1;
    const candidate = { ...this.best, ...change };
    const fails = await this.#parts.fails(candidate);
    if (fails) this.best = candidate;
    return fails;
  }

  /** Leaves out ever smaller groups of units, from the end. Answers whether anything went. */
  async leaveOut(): Promise<boolean> {
    const before = this.best.actions.length;
    let size = Math.ceil(unitsOf(this.best.actions).length / 2);
    while (size >= 1 && !this.#over) {
      await this.#leaveOutGroups(size);
      size = size === 1 ? 0 : Math.ceil(size / 2);
    }
    return this.best.actions.length < before;
  }

  async #leaveOutGroups(size: number): Promise<void> {
    let units = unitsOf(this.best.actions);
    for (let end = units.length; end > 0 && !this.#over; end -= size) {
      const rest = [...units.slice(0, Math.max(0, end - size)), ...units.slice(end)];
      if (rest.length > 0 && (await this.#keep({ actions: inOrder(rest) }))) units = rest;
    }
  }

  async leap(): Promise<void> {
    for (const change of leaps(this.best)) if (await this.#keep(change)) return;
  }

  async simplify(): Promise<boolean> {
    let any = false;
    for (const change of simpler(this.best)) any = (await this.#keep(change)) || any;
    return any;
  }

  /** Repeats and cancels of goals that stay. */
  async thinGoals(): Promise<boolean> {
    let any = false;
    for (const action of [...this.best.actions].reverse()) {
      if (action.do !== 'send' || action.kind === 'goal') continue;
      const actions = this.best.actions.filter((one) => one !== action);
      any = (await this.#keep({ actions })) || any;
    }
    return any;
  }
}

/** Shrinks a schedule that fails. */
export async function shrink(schedule: Schedule, parts: ShrinkParts): Promise<Shrunk> {
  const shrinking = new Shrinking(schedule, parts);
  await shrinking.leap();
  for (let again = true; again; ) {
    // Simpler first: runs without faults are short.
    const simplified = await shrinking.simplify();
    const left = await shrinking.leaveOut();
    const thinned = await shrinking.thinGoals();
    again = left || simplified || thinned;
  }
  return { schedule: shrinking.best, runs: shrinking.runs };
}
