import { describe, expect, it } from 'vitest';
import type { Loop } from '../../../../schemas/definitions/plan.ts';
import { bodyOf, event, text } from '../../../../schemas/event.ts';
import { limits } from '../../../../schemas/limits.ts';
import { keyLogId } from '../../../../services/chassis/protocol/ids.ts';
import { supervisorLogic } from '../../../../services/supervisor/decide.ts';
import { aPlan, aTask, taskCompleted } from '../../../support/plan-fixtures.ts';
import { runningSession, type SupervisorBench } from '../../../support/supervisor-bench.ts';

/** What a session does with goals that come to wake its loop. */

const exit = { iterationsMax: 2 };

function listening(wake: Loop['wake'] = { goalsOfKey: true }, key = true): SupervisorBench {
  const input = { said: '=goals.goal', signal: '=signal' };
  const plan = aPlan([aTask('watch', { loop: { wake, exit }, input })]);
  return runningSession(plan, key ? { key: 'shop' } : {});
}

function comes(bench: SupervisorBench, name: string): void {
  const data = { goalId: name, goalLog: `goal_${name}`, principal: 'user:bob', receivedAtMs: 1 };
  bench.input(event('session.woken', data, { goal: text(`Look at ${name}.`) }));
}

const done = (bench: SupervisorBench, task: string) =>
  bench.append([taskCompleted(task, 'seen')], 'worker-pool');

const tasksOf = (bench: SupervisorBench): readonly string[] =>
  bench.says().filter((one) => !one.startsWith('timer.'));

const inputOf = (bench: SupervisorBench) => bodyOf(bench.eventOf('task.scheduled').content.input);

/** Types and outcomes of what it says of such goals. */
const settledIn = (bench: SupervisorBench) =>
  bench.events.flatMap((one) =>
    one.type === 'wake.settled' ? [`${one.data.goalId} ${one.data.outcome}`] : [],
  );

const acknowledgeAll = (bench: SupervisorBench): void => {
  for (const { type, record, index, service } of [...bench.events]) {
    if (!type.startsWith('wake.') || service !== 'supervisor') continue;
    const told = { record, index, destinations: ['longrein.keys'] };
    bench.append([event('delivery.acknowledged', told)], 'supervisor');
  }
};

describe('a loop that goals of the key wake', () => {
  it('begins with the goal of its session, and tells the key log', () => {
    const bench = listening();
    expect(tasksOf(bench)).toEqual([
      ...['task.expanded watch 1', 'task.expanded watch 1', 'task.scheduled watch:1 1'],
      'wake.opened',
    ]);
    expect(inputOf(bench)).toEqual({ said: 'look at it', signal: null });
    const keyLog = keyLogId('acme', 'shop');
    const opened = bench.eventOf('wake.opened');
    expect(opened.data).toEqual({ keyLog, goalLog: 'goal_ses_test', lane: 'normal' });
    const [told] = supervisorLogic.deliveries?.(opened, bench.meta) ?? [];
    expect(told).toMatchObject({ topic: 'longrein.keys', session: keyLog });
  });

  it('takes all that waits with the next iteration, in one turn', () => {
    const bench = listening();
    bench.decide();
    comes(bench, 'two');
    comes(bench, 'three');
    expect(tasksOf(bench)).toEqual([]);
    done(bench, 'watch:1');
    expect(tasksOf(bench)).toEqual([
      ...['task.expanded watch 1', 'wake.settled watch', 'wake.settled watch'],
      'task.scheduled watch:2 1',
    ]);
    expect(inputOf(bench)).toEqual({ said: ['Look at two.', 'Look at three.'], signal: null });
    expect(settledIn(bench)).toEqual(['two taken', 'three taken']);
  });

  it('waits while nothing comes, and then goes on at once', () => {
    const bench = listening();
    bench.decide();
    done(bench, 'watch:1');
    expect(tasksOf(bench)).toEqual([]);
    comes(bench, 'two');
    expect(tasksOf(bench)).toContain('task.scheduled watch:2 1');
  });

  it('gives back what nobody has seen when it ends, also what comes later', () => {
    const bench = listening();
    bench.decide();
    comes(bench, 'two');
    done(bench, 'watch:1');
    bench.decide();
    comes(bench, 'three');
    done(bench, 'watch:2');
    expect(tasksOf(bench)).toEqual(['task.completed watch 1', 'wake.settled watch', 'wake.closed']);
    comes(bench, 'four');
    expect(tasksOf(bench)).toEqual(['wake.settled watch']);
    expect(settledIn(bench)).toEqual(['two taken', 'three returned', 'four returned']);
  });

  it('gives back what is too much', () => {
    const bench = listening();
    bench.decide();
    for (let at = 0; at <= limits.signalsWaitingMax; at += 1) comes(bench, `goal-${at}`);
    expect(tasksOf(bench)).toEqual(['wake.settled watch']);
    expect(settledIn(bench)).toEqual([`goal-${limits.signalsWaitingMax} returned`]);
  });

  it('is woken by signals beside them', () => {
    const bench = listening({ goalsOfKey: true, signals: ['alert'] });
    bench.decide();
    done(bench, 'watch:1');
    bench.decide();
    const payload = { mediaType: 'application/json', body: { at: 1 } };
    bench.input(event('session.signalled', { signal: 's', name: 'alert' }, { payload }));
    expect(tasksOf(bench)).toContain('task.scheduled watch:2 1');
    expect(inputOf(bench)).toMatchObject({ signal: { name: 'alert', payload: { at: 1 } } });
  });

  it('fails without a key', () => {
    const bench = listening({ goalsOfKey: true }, false);
    bench.decide();
    expect(bench.eventOf('task.failed').data).toMatchObject({ code: 'KEY_MISSING' });
  });
});

describe('the end of its session', () => {
  function ended(): SupervisorBench {
    const bench = listening();
    bench.decide();
    comes(bench, 'two');
    bench.input(event('session.cancel-requested', { requestedBy: 'ada' }));
    bench.decide();
    const result = { status: 'cancelled' as const };
    bench.append([event('result.published', result as never)], 'aggregator');
    const { record, index } = bench.eventOf('result.published');
    const told = { record, index, destinations: ['longrein.results'] };
    bench.append([event('delivery.acknowledged', told)], 'aggregator');
    return bench;
  }

  const counted = (bench: SupervisorBench, diverted: number): void => {
    const keyLog = keyLogId('acme', 'shop');
    bench.input(event('wake.counted', { keyLog, diverted }));
  };

  it('waits for the count, for who is on the way, and until each has heard', () => {
    const bench = ended();
    expect(settledIn(bench)).toEqual(['two returned']);
    acknowledgeAll(bench);
    expect(bench.says()).toEqual([]);
    counted(bench, 3);
    expect(bench.says()).toEqual([]);
    bench.input(event('wake.withdrawn', { goalLog: 'goal_three' }));
    expect(bench.says()).toEqual([]);
    comes(bench, 'four');
    expect(bench.says()).toEqual(['wake.settled watch']);
    acknowledgeAll(bench);
    expect(bench.says()).toEqual(['session.closed']);
  });

  it('does not wait for a key log that can never be told', () => {
    const bench = ended();
    for (const { type, record, index } of [...bench.events]) {
      if (!type.startsWith('wake.')) continue;
      const data = { record, index, code: 'RECORD_REFUSED', destination: 'longrein.keys' };
      const refused = event('delivery.refused', data as never, { message: text('No.') });
      bench.append([refused], 'supervisor');
    }
    expect(bench.says()).toEqual(['session.closed']);
  });

  it('in a fork nobody is told, and nobody is waited for', () => {
    const bench = listening();
    bench.decide();
    comes(bench, 'two');
    const state = supervisorLogic.evolve(
      bench.state('supervisor') as never,
      {
        ...bench.eventOf('wake.opened'),
        ...{ type: 'session.forked', data: {}, content: {} },
      } as never,
    );
    expect(state.wakes).toMatchObject({ phase: 'counted', expected: 1, arrived: 1, unsent: [] });
    expect(state.wakes?.waiting.map(({ goalLog }) => goalLog)).toEqual([undefined]);
  });
});
