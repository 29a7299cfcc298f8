import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyOf } from '../../../../schemas/event.ts';
import { addressOf } from '../../../../services/chassis/protocol/service-logic.ts';
import { backoffCapMs, backoffOf } from '../../../../services/supervisor/retry.ts';
import type { SupervisorState } from '../../../../services/supervisor/state.ts';
import { aPlan, aTask, taskCompleted, taskFailed } from '../../../support/plan-fixtures.ts';
import { runningSession } from '../../../support/supervisor-bench.ts';

const plan = aPlan([aTask('a', { attemptsMax: 2 }), aTask('b')]);

function scheduled() {
  const bench = runningSession(plan);
  bench.decide();
  return bench;
}

describe('retries', () => {
  it('waits before the next attempt as long as the back-off and the failure say', () => {
    const bench = scheduled();
    const [failed] = bench.append([taskFailed('a')], 'worker-pool');
    expect(bench.says()).toEqual([
      'task.retry-scheduled a 2',
      'timer.cancelled supervisor/task/a/1',
      'timer.set supervisor/retry/a/2',
    ]);
    const waitMs = backoffOf(1_000, 1, failed === undefined ? '' : addressOf(failed));
    expect(bench.eventOf('task.retry-scheduled').data).toEqual({
      task: 'a',
      attempt: 2,
      dueAtMs: bench.nowMs + waitMs,
      code: 'TOOL_FAILED',
    });
  });

  it('schedules the next attempt when the wait is over', () => {
    const bench = scheduled();
    bench.append([taskFailed('a')], 'worker-pool');
    bench.decide();
    bench.fire('supervisor/retry/a/2');
    expect(bench.says()).toEqual(['task.scheduled a 2', 'timer.set supervisor/task/a/2']);
  });

  it('gives up after the last attempt and fails the session with the failure of the task', () => {
    const bench = scheduled();
    bench.append([taskFailed('a')], 'worker-pool');
    bench.decide();
    bench.fire('supervisor/retry/a/2');
    bench.decide();
    bench.append([taskFailed('a', { attempt: 2, code: 'WORSE' })], 'worker-pool');
    expect(bench.says()).toEqual([
      'task.abandoned a',
      'session.failed a',
      'task.cancelled b 1',
      'timer.cancelled supervisor/task/a/2',
      'timer.cancelled supervisor/task/b/1',
    ]);
    const { data, content } = bench.eventOf('session.failed');
    expect(data).toEqual({ code: 'WORSE', task: 'a' });
    expect(bodyOf(content.message)).toBe('Task "a" failed after 2 attempts: a broke');
  });

  it('gives up at once where trying again cannot help', () => {
    const bench = scheduled();
    bench.append([taskFailed('a', { retryable: false })], 'worker-pool');
    expect(bench.says().slice(0, 2)).toEqual(['task.abandoned a', 'session.failed a']);
    expect(bench.eventOf('task.abandoned').data.attempts).toBe(1);
  });

  it('treats a deadline that passed like a failure that may be tried again', () => {
    const bench = scheduled();
    bench.fire('supervisor/task/a/1');
    expect(bench.says()).toEqual([
      'task.timed-out a 1',
      'task.retry-scheduled a 2',
      'timer.set supervisor/retry/a/2',
    ]);
    bench.fire('supervisor/retry/a/2');
    bench.decide();
    bench.fire('supervisor/task/a/2');
    expect(bench.says().slice(0, 3)).toEqual([
      'task.timed-out a 2',
      'task.abandoned a',
      'session.failed a',
    ]);
    expect(bench.eventOf('task.abandoned').data).toMatchObject({
      code: 'TASK_TIMED_OUT',
      class: 'timeout',
      attempts: 2,
    });
  });

  it('ignores late and repeated outcomes of attempts that are over', () => {
    const bench = scheduled();
    bench.fire('supervisor/task/a/1');
    bench.decide();
    const before = bench.state<SupervisorState>('supervisor');
    bench.append([taskCompleted('a', 1), taskFailed('a'), taskFailed('nobody')], 'worker-pool');
    expect(bench.state<SupervisorState>('supervisor')).toBe(before);
    expect(bench.says()).toEqual([]);
  });

  it('takes an outcome that came before the firing was decided, and ignores the firing', () => {
    const bench = scheduled();
    bench.fire('supervisor/task/a/1');
    bench.append([taskCompleted('a', 1)], 'worker-pool');
    expect(bench.says()).toEqual([]);
  });

  it('ignores a firing of a setting that was moved or taken back', () => {
    const bench = scheduled();
    bench.append([taskCompleted('a', 1)], 'worker-pool');
    bench.decide();
    const before = bench.state<SupervisorState>('supervisor');
    bench.fire('supervisor/task/a/1');
    expect(bench.state<SupervisorState>('supervisor')).toBe(before);
  });

  it('waits between half and one and a half of the doubled back-off, never beyond the cap', () => {
    fc.assert(
      fc.property(
        fc.nat(100_000),
        fc.integer({ min: 1, max: 200 }),
        fc.string(),
        (base, n, seed) => {
          const waitMs = backoffOf(base, n, seed);
          const full = Math.min(base * 2 ** (n - 1), backoffCapMs);
          expect(Number.isSafeInteger(waitMs)).toBe(true);
          expect(waitMs).toBeGreaterThanOrEqual(Math.floor(full / 2));
          expect(waitMs).toBeLessThanOrEqual(full * 1.5);
          expect(waitMs).toBe(backoffOf(base, n, seed));
        },
      ),
    );
  });
});
