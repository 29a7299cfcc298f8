import { describe, expect, it } from 'vitest';
import { bodyOf } from '../../../../schemas/event.ts';
import type { SupervisorState } from '../../../../services/supervisor/state.ts';
import { aPlan, aTask, taskCompleted, taskFailed } from '../../../support/plan-fixtures.ts';
import { runningSession } from '../../../support/supervisor-bench.ts';

describe('scheduling', () => {
  it('gives every task without needs to its pool when the plan is accepted', () => {
    const bench = runningSession(aPlan([aTask('a'), aTask('b'), aTask('c', { needs: ['a'] })]));
    expect(bench.says()).toEqual([
      'task.scheduled a 1',
      'task.scheduled b 1',
      'timer.set supervisor/task/a/1',
      'timer.set supervisor/task/b/1',
    ]);
    expect(bench.eventOf('task.scheduled').data).toMatchObject({
      pool: 'main',
      agent: 'worker',
      deadlineAtMs: bench.nowMs + 5_000,
    });
    expect(bench.eventOf('timer.set').data.dueAtMs).toBe(bench.nowMs + 5_000);
  });

  it('puts higher priority first, and keeps the order of the plan among equals', () => {
    const tasks = [
      aTask('a'),
      aTask('b', { priority: 5 }),
      aTask('c'),
      aTask('d', { priority: 5 }),
    ];
    const scheduled = runningSession(aPlan(tasks))
      .says()
      .filter((one) => one.startsWith('task.'));
    expect(scheduled).toEqual([
      'task.scheduled b 1',
      'task.scheduled d 1',
      'task.scheduled a 1',
      'task.scheduled c 1',
    ]);
  });

  it('waits for all needs, then evaluates the input over goal, inputs, context and outputs', () => {
    const input = {
      goal: '=goal',
      depth: '=inputs.depth',
      who: '=context.user',
      sum: '=tasks.a.n + tasks.b.n',
      others: '=$keys(tasks)',
      kept: '==literal',
    };
    const inputs = { depth: { type: 'number' as const, required: false, default: 7 } };
    const last = aTask('c', { needs: ['a', 'b'], input });
    const plan = aPlan([aTask('a'), aTask('b'), last, aTask('d')], { inputs });
    const bench = runningSession(plan, {}, { context: { user: 'ada' } });
    bench.decide();
    bench.append([taskCompleted('a', { n: 1 })], 'worker-pool');
    expect(bench.says()).toEqual(['timer.cancelled supervisor/task/a/1']);
    bench.append([taskCompleted('b', { n: 2 })], 'worker-pool');
    expect(bench.says()).toEqual([
      'task.scheduled c 1',
      'timer.cancelled supervisor/task/b/1',
      'timer.set supervisor/task/c/1',
    ]);
    expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toEqual({
      goal: 'look at it',
      depth: 7,
      who: 'ada',
      sum: 3,
      others: ['a', 'b'],
      kept: '=literal',
    });
  });

  it('gives a task up whose input cannot be evaluated, and says where', () => {
    const bad = aTask('b', { input: { n: '=$number("x")' }, onFailure: 'continue' });
    const bench = runningSession(aPlan([aTask('a'), bad, aTask('c', { needs: ['b'] })]));
    expect(bench.says()).toEqual([
      'task.scheduled a 1',
      'task.abandoned b',
      'task.skipped c',
      'timer.set supervisor/task/a/1',
    ]);
    const { data, content } = bench.eventOf('task.abandoned');
    expect(data).toMatchObject({ attempts: 0, code: 'EXPRESSION', class: 'expression' });
    expect(bodyOf(content.message)).toContain('plan audit, task b, input.n');
  });

  it('ends the session where such a task may not fail, and schedules nothing after it', () => {
    const bad = aTask('a', { input: '=$number("x")' });
    const bench = runningSession(aPlan([bad, aTask('b')]));
    expect(bench.says()).toEqual(['task.abandoned a', 'session.failed a']);
    expect(bench.eventOf('session.failed').data).toEqual({ code: 'EXPRESSION', task: 'a' });
  });

  it('skips what needs a task that was given up, what needs the skipped, and nothing else', () => {
    const plan = aPlan([
      aTask('d', { needs: ['c'] }),
      aTask('a', { onFailure: 'continue', attemptsMax: 1 }),
      aTask('b'),
      aTask('c', { needs: ['b', 'a'] }),
    ]);
    const bench = runningSession(plan);
    bench.decide();
    bench.append([taskFailed('a')], 'worker-pool');
    expect(bench.says()).toEqual([
      'task.abandoned a',
      'task.skipped c',
      'task.skipped d',
      'timer.cancelled supervisor/task/a/1',
    ]);
    expect(bench.eventOf('task.skipped').data).toEqual({ task: 'd', because: 'c' });
  });

  it('keeps an output only as long as a task may need it', () => {
    const bench = runningSession(aPlan([aTask('a'), aTask('b', { needs: ['a'] })]));
    bench.decide();
    bench.append([taskCompleted('a', 'long')], 'worker-pool');
    bench.decide();
    bench.append([taskCompleted('b', 'longer')], 'worker-pool');
    const { tasks } = bench.state<SupervisorState>('supervisor');
    expect(tasks.map(({ output }) => output)).toEqual(['long', null]);
  });

  it('names timers of long task ids within the limit', () => {
    const id = 't'.repeat(128);
    const bench = runningSession(aPlan([aTask(id)]));
    bench.decide();
    expect(bench.eventOf('timer.set').data.timer.length).toBeLessThanOrEqual(128);
    bench.append([taskFailed(id, { retryable: false })], 'worker-pool');
    expect(bench.decide().map(({ type }) => type)).toContain('timer.cancelled');
  });
});
