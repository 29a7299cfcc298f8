import { beforeAll, describe, expect, test } from 'vitest';
import { checkRun } from './checkers/checkers.ts';
import { factsOnce } from './checkers/facts-once.ts';
import { goalsGoOn } from './checkers/goals-go-on.ts';
import { noToy } from './checkers/no-toy.ts';
import { poolsKept } from './checkers/pools-kept.ts';
import { sinkRows } from './checkers/sink-rows.ts';
import { spendInBudget, spendInDay } from './checkers/spend-in-budget.ts';
import type { History, Line } from './world/history.ts';
import { runSchedule } from './world/run.ts';
import type { Run } from './world/run-outcome.ts';
import { scheduleOf } from './world/schedule.ts';
import type { Action } from './world/schedule-shape.ts';

/**
 * Checkers whose rule no break of the code shows by itself: a run that is right is changed afterwards, and they must see
 * it. The others are proved by taking rules away.
 */

/** What the tests below change or leave out. */
const needed = ['tool.completed', 'task.scheduled', 'model.completed'];

const hasAll = ({ history }: Run): boolean =>
  needed.every((type) =>
    history.lines.some(({ step }) => step.events.some((one) => one.type === type)),
  );

let run: Run;

/** The first seed with event stores in which all of that happened. */
beforeAll(async () => {
  const seeds = Array.from({ length: 200 }, (_, index) => index + 1);
  for (const seed of seeds.filter((one) => scheduleOf(one).store)) {
    run = await runSchedule(scheduleOf(seed));
    if (hasAll(run)) return;
  }
});

const withHistory = (changed: Partial<History>): Run => ({
  ...run,
  history: Object.assign(Object.create(run.history) as History, changed),
});

const lineWith = (type: string): Line => {
  const found = run.history.lines.find(({ step }) => step.events.some((one) => one.type === type));
  if (found === undefined) throw new Error(`the run has no ${type}`);
  return found;
};

describe('a run that is right', () => {
  test('breaks no rule', () => {
    const all = [factsOnce, goalsGoOn, noToy, sinkRows, spendInBudget, spendInDay];
    expect(all.flatMap((check) => check(run))).toEqual([]);
  });
});

describe('the rows of the event store', () => {
  const changedRows = (change: (rows: Run['sink']['rows'], address: string) => void): Run => {
    const rows = new Map(run.sink.rows);
    change(rows, [...rows.keys()][7] ?? '');
    return { ...run, sink: Object.assign(Object.create(run.sink) as Run['sink'], { rows }) };
  };

  test('may not lack one', () => {
    expect(sinkRows(changedRows((rows, address) => rows.delete(address)))).toHaveLength(1);
  });

  test('may not be there twice', () => {
    const twice = changedRows((rows, at) => rows.set(at, { count: 2, effective: true }));
    expect(sinkRows(twice)).not.toEqual([]);
  });

  test('may not count what the log ignores', () => {
    const { topic, partition, offset } = lineWith('task.scheduled');
    const address = `${topic}/${partition}@${offset}#0`;
    const void_ = changedRows((rows) => rows.set(address, { count: 1, effective: false }));
    expect(sinkRows(void_)).toHaveLength(1);
  });

  test('do not count a checkpoint that came after the end of its session (seed 186)', () => {
    const over = [...run.history.sessions.values()].find(({ core }) => core.status === 'closed');
    const { lines: own, session, topic, partition } = over ?? lineless();
    const offset = 1_000_000;
    const place = { topic, partition, offset };
    const header = { ...own[0]?.header, kind: 'checkpoint', session };
    const late = { ...own[0], ...place, header, accepted: true } as Line;
    const logs = new Map(run.logs).set('late', [place as never]);
    const found = (effective: boolean): number => {
      const at = `${topic}/${partition}@${offset}#0`;
      const { sink } = changedRows((rows) => rows.set(at, { count: 1, effective }));
      const changed = withHistory({ lines: [...run.history.lines, late] });
      return sinkRows({ ...changed, logs, sink }).length;
    };
    expect([found(false), found(true)]).toEqual([0, 1]);
  });
});

const lineless = (): never => {
  throw new Error('no session of the run has closed');
};

test('a fact that counts a second time is found', () => {
  const line = lineWith('tool.completed');
  const lines = [...run.history.lines, { ...line, offset: line.offset + 1_000 }];
  expect(factsOnce(withHistory({ lines }))).toHaveLength(1);
});

test('a session that waits for nothing is found', () => {
  const line = lineWith('task.scheduled');
  const core = { ...line.step.core, timers: {}, calls: {} };
  const known = run.history.sessions.get(line.header.session);
  if (known === undefined) throw new Error('no such session');
  const stuck = { ...known, lines: [{ ...line, step: { ...line.step, core } }] };
  const sessions = new Map([[known.session, stuck]]);
  expect(goalsGoOn(withHistory({ sessions, servicesOf: () => [] }))).toHaveLength(1);
});

test('a goal that spent more than its budget is found', () => {
  const outcome = lineWith('model.completed');
  const opening = run.history.lines.find(
    ({ header, step }) =>
      header.session === outcome.header.session &&
      step.events.some(({ type }) => type === 'session.opened'),
  );
  if (opening === undefined) throw new Error('no opening');
  const [event] = opening.step.events;
  const events = [{ ...event, data: { ...event?.data, budgetNanoUsd: 10 } }] as never;
  const lines = [{ ...opening, step: { ...opening.step, events } }, outcome];
  expect(spendInBudget(withHistory({ lines }))).toHaveLength(1);
});

test('all sessions of a tenant may not spend more than its day allows', () => {
  const outcomes = run.history.lines.flatMap((line) => {
    if (line.body.kind !== 'input' || line.body.event.type !== 'model.completed') return [];
    const event = { ...line.body.event, data: { ...line.body.event.data, costNanoUsd: 9_000_000 } };
    return [{ ...line, body: { ...line.body, event } }];
  });
  const calm = { ...run, schedule: { ...run.schedule, actions: [] } };
  const { history } = withHistory({ lines: outcomes });
  expect(spendInDay({ ...calm, history })).toHaveLength(1);
});

test('a run that was broken off is found, and what its log says is found as well', async () => {
  const nothing = { ledger: [], lines: [], trims: [], coverage: new Map(), poisoned: new Set() };
  const history = { lines: [], sessions: new Map(), strange: new Set() };
  const calm = { ...run.schedule, actions: [] };
  const away = { ...nothing, history, runaway: true, fatal: [new Error('x')], schedule: calm };
  const found = await checkRun(away as unknown as Run);
  expect(found.map(({ rule }) => rule)).toEqual([
    'a run comes to its end',
    'nothing fails that the faults do not explain',
  ]);
});

test('a schedule that leaves no host has its zombie all the same (seed 537)', async () => {
  const value = { id: 'one', goal: 'One.', plan: 'echo' };
  const actions: Action[] = [
    { atMs: 0, do: 'start', services: ['all'], skewMs: 0 },
    { atMs: 100, do: 'send', value, goalId: 'one', kind: 'goal' },
    { atMs: 600, do: 'crash', victim: 0 },
  ];
  const left = await runSchedule({ ...scheduleOf(1), actions, calmAtMs: 700, store: false });
  expect(left.coverage.get('fault crash')).toBe(1);
  expect(left.coverage.get('fault zombie: expelled')).toBe(1);
});

test('a schedule in which nothing went wrong is a toy', () => {
  expect(noToy({ ...run, published: [], coverage: new Map() })).toHaveLength(4);
});

describe('the places of a pool', () => {
  const played = (session: string, ...events: readonly object[]): Run => {
    const lines = [{ step: { events } }];
    return { ...run, history: { sessions: new Map([[session, { session, lines }]]) } } as never;
  };
  const tasks = [1, 2, 3, 4].map((n) => ({ task: `t${n}`, attempt: 1 }));
  const scheduled = { type: 'task.scheduled', data: { task: 't1', attempt: 1, pool: 'narrow' } };

  test('may not be given more often than there are', () => {
    const granted = { type: 'slot.granted', data: { session: 'ses_a', tasks } };
    expect(poolsKept(played('pool:narrow', granted))).toHaveLength(1);
  });

  test('are needed by who begins', () => {
    expect(poolsKept(played('ses_a', scheduled))).toHaveLength(1);
    const granted = { type: 'permit.granted', data: { tasks } };
    expect(poolsKept(played('ses_a', granted, scheduled))).toEqual([]);
    const returned = { type: 'permit.returned', data: { tasks } };
    expect(poolsKept(played('ses_a', granted, returned, scheduled))).toHaveLength(1);
  });
});
