import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import { type Draft, event, type SeenEvent, text } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { aggregatorLogic } from '../../../services/aggregator/decide.ts';
import { canonical } from '../../../services/chassis/protocol/hash.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';
import { plannerLogic } from '../../../services/planner/decide.ts';
import { supervisorLogic } from '../../../services/supervisor/decide.ts';
import { foldSession, sessionFold } from '../../../state-machines/session/session-machine.ts';
import { attemptsOf, foldTask, taskFold } from '../../../state-machines/task/task-machine.ts';
import { aCatalog, aPlan, aTask, opened } from '../../support/plan-fixtures.ts';
import { type Outcome, SessionWorld } from '../../support/session-world.ts';

/**
 * Planner, supervisor and aggregator together, in random plans, orders, outcomes and disturbances.
 */

const logics = [plannerLogic, supervisorLogic, aggregatorLogic] as unknown as readonly AnyLogic[];
const facts = { plans: ['audit'], pools: ['main'], problems: [] };

const plans: fc.Arbitrary<PlanDefinition> = fc
  .record({
    tasks: fc.array(
      fc.record({
        needs: fc.array(fc.nat(6), { maxLength: 3 }),
        attemptsMax: fc.integer({ min: 1, max: 3 }),
        backoffMs: fc.nat(5_000),
        priority: fc.nat(2),
        onFailure: fc.constantFrom('fail' as const, 'continue' as const, 'continue' as const),
        input: fc.constantFrom('=goal', '=goal', { all: '=tasks' }, '=$number(goal)'),
      }),
      { maxLength: 7 },
    ),
    kind: fc.constantFrom('collect' as const, 'merge' as const),
    conflict: fc.constantFrom('first' as const, 'last' as const, 'list' as const, 'fail' as const),
    shape: fc.constantFrom(undefined, '=joined', '=$number(goal)'),
  })
  .map(({ tasks, kind, conflict, shape }) => {
    const output = { kind, conflict, ...(shape === undefined ? {} : { shape }) };
    const list = tasks.map(({ needs, ...rest }, index) => {
      const earlier = [...new Set(needs.filter((need) => need < index))];
      return aTask(`t${index}`, { ...rest, needs: earlier.map((need) => `t${need}`) });
    });
    return aPlan(list, { output });
  });

const disturbances = fc.constantFrom<Draft | undefined>(
  undefined,
  undefined,
  event('session.cancel-requested', { requestedBy: 'user:eve' }),
  event('decision.failed', { service: 'worker-pool', code: 'X' }, { message: text('boom') }),
);

const runs = fc.record({
  plan: plans,
  known: fc.constantFrom(true, true, true, false),
  timeoutMs: fc.constantFrom(undefined, 3_000, 60_000),
  outcomes: fc.infiniteStream(
    fc.constantFrom<Outcome>('completed', 'completed', 'completed', 'failed', 'broken', 'silent'),
  ),
  choices: fc.array(fc.nat(1_000), { maxLength: 400 }),
  disturbance: disturbances,
  disturbedAt: fc.nat(60),
});

type Run = typeof runs extends fc.Arbitrary<infer R> ? R : never;

const stepsMax = 5_000;

/** Plays a run to its end: first by its choices, then whatever is possible, in order. */
function play(run: Run): SessionWorld {
  const outcomes = new Map<string, Outcome>();
  const world = new SessionWorld({
    logics,
    facts,
    attachments: run.known ? { catalog: aCatalog(run.plan) as unknown as JsonValue } : {},
    outcomeOf({ task, attempt }) {
      const key = `${task}/${attempt}`;
      const known = outcomes.get(key) ?? run.outcomes.next().value;
      outcomes.set(key, known);
      return known;
    },
    outputOf: ({ task }) => (task === 't6' ? 'text' : { [task]: 1, shared: task }),
  });
  world.input(opened(run.timeoutMs === undefined ? {} : { timeoutMs: run.timeoutMs }));
  for (let step = 0; step < stepsMax; step++) {
    if (step === run.disturbedAt && run.disturbance !== undefined) {
      world.append([run.disturbance], 'worker-pool');
    }
    const actions = world.actions();
    if (actions.length === 0) return world;
    actions[(run.choices[step] ?? 0) % actions.length]?.run();
  }
  throw new Error('the session goes on for ever');
}

function takenEvents(world: SessionWorld): readonly SeenEvent[] {
  let session = sessionFold.initial();
  return world.events.filter((one) => {
    const next = foldSession(session, one);
    const taken = next !== session;
    session = next;
    return taken;
  });
}

/** How often each task was really given to its pool. */
function attemptsIn(world: SessionWorld): ReadonlyMap<string, number> {
  const machines = new Map<string, ReturnType<typeof taskFold.initial>>();
  for (const one of world.events) {
    if (!('task' in one.data) || !one.type.startsWith('task.')) continue;
    const task = String(one.data.task);
    machines.set(task, foldTask(machines.get(task) ?? taskFold.initial(), one));
  }
  return new Map([...machines].map(([task, machine]) => [task, attemptsOf(machine)]));
}

const endings = new Set(['session.completed', 'session.failed', 'session.cancelled']);
const parameters = { numRuns: 100 };

describe('planner, supervisor and aggregator together', () => {
  it('end every session with one ending, one result that says the same, and a closed log', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const world = play(run);
        const taken = takenEvents(world);
        const ended = taken.filter(({ type }) => endings.has(type));
        expect(ended).toHaveLength(1);
        expect(world.results).toHaveLength(1);
        expect(`session.${world.results[0]?.data.status}`).toBe(ended[0]?.type);
        expect(world.closed).toBe(true);
        expect(world.events.at(-1)?.type).toBe('session.closed');
      }),
      parameters,
    );
  });

  it('close a session only when no timer is set and no call runs', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const world = play(run);
        expect([...world.timers.keys()]).toEqual([]);
        expect([...world.calls.keys()]).toEqual([]);
      }),
      parameters,
    );
  });

  it('decide nothing twice, and the same from a stored state', () => {
    fc.assert(
      fc.property(runs, (run) => {
        expect(play(run).faults).toEqual([]);
      }),
      parameters,
    );
  });

  it('never give a task to its pool more often than the plan allows', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const attempts = attemptsIn(play(run));
        for (const { id, attemptsMax } of run.plan.tasks) {
          expect(attempts.get(id) ?? 0).toBeLessThanOrEqual(attemptsMax);
        }
      }),
      parameters,
    );
  });

  it('fold the same events to the same states', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const { events } = play(run);
        for (const logic of logics) {
          const fold = () => events.reduce<unknown>(logic.evolve, logic.initial());
          const stored = events.reduce<unknown>(
            (state, one) => JSON.parse(canonical(logic.evolve(state, one))),
            logic.initial(),
          );
          expect(canonical(fold())).toBe(canonical(fold()));
          expect(canonical(stored)).toBe(canonical(fold()));
        }
      }),
      parameters,
    );
  });
});
