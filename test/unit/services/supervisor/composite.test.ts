import { describe, expect, it } from 'vitest';
import type { FanOut, Loop, Review } from '../../../../schemas/definitions/plan.ts';
import { bodyOf, event, text } from '../../../../schemas/event.ts';
import { aPlan, aTask, taskCompleted, taskFailed } from '../../../support/plan-fixtures.ts';
import { runningSession, type SupervisorBench } from '../../../support/supervisor-bench.ts';

const fanOut = (changes: Partial<FanOut> = {}): FanOut => ({
  over: '=inputs.items',
  itemsMax: 32,
  parallelMax: 32,
  until: 'all',
  onBranchFailure: 'fail',
  ...changes,
});

function fanned(changes: Partial<FanOut>, items: readonly string[] = ['a', 'b', 'c']) {
  const each = aTask('each', { fanOut: fanOut(changes), input: { it: '=item', at: '=index' } });
  const after = aTask('after', { needs: ['each'], input: '=tasks.each' });
  const bench = runningSession(aPlan([each, after]), {}, { inputs: { items } });
  return { bench, first: tasksOf(bench) };
}

/** What the supervisor decides, without timers. */
const tasksOf = (bench: SupervisorBench): readonly string[] =>
  bench.says().filter((one) => !one.startsWith('timer.'));

const done = (bench: SupervisorBench, task: string, output: string | object | boolean) =>
  bench.append([taskCompleted(task, output as string)], 'worker-pool');
const broke = (bench: SupervisorBench, task: string) =>
  bench.append([taskFailed(task, { retryable: false })], 'worker-pool');

const outputOf = (bench: SupervisorBench) => bodyOf(bench.eventOf('task.completed').content.output);

describe('fan-out', () => {
  it('makes a branch of each item of a list, and gives their outputs in the order of the items', () => {
    const { bench, first } = fanned({});
    expect(first).toEqual([
      'task.expanded each 1',
      'task.scheduled each:1 1',
      'task.scheduled each:2 1',
      'task.scheduled each:3 1',
    ]);
    expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toEqual({ it: 'c', at: 2 });
    for (const [task, output] of [
      ['each:2', 'B'],
      ['each:1', 'A'],
      ['each:3', 'C'],
    ] as const) {
      done(bench, task, output);
      if (task !== 'each:3') expect(tasksOf(bench)).toEqual([]);
    }
    expect(tasksOf(bench)).toEqual(['task.completed each 1', 'task.scheduled after 1']);
    expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toEqual(['A', 'B', 'C']);
  });

  it('has nothing to do for an empty list', () => {
    const { first, bench } = fanned({}, []);
    expect(first).toEqual([
      'task.expanded each 1',
      'task.completed each 1',
      'task.scheduled after 1',
    ]);
    expect(outputOf(bench)).toEqual([]);
  });

  it('runs only so many branches at a time', () => {
    const { bench, first } = fanned({ parallelMax: 2 });
    expect(first.slice(1)).toEqual(['task.scheduled each:1 1', 'task.scheduled each:2 1']);
    done(bench, 'each:2', 'B');
    expect(tasksOf(bench)).toEqual(['task.scheduled each:3 1']);
  });

  it('refuses a list that is longer than it may be, with both numbers', () => {
    const { first, bench } = fanned({ itemsMax: 2 });
    expect(first).toEqual(['task.abandoned each', 'session.failed each']);
    expect(bodyOf(bench.eventOf('task.abandoned').content.message)).toContain(
      'would have 3 branches; its itemsMax is 2',
    );
  });

  it('ends with the first branch that completes, and stops the others', () => {
    const branches = [{ id: 'quick' }, { id: 'good', agent: 'thinker', input: 'think' }];
    const task = aTask('ask', { fanOut: { ...fanOut({ until: 'first' }), branches, over: '' } });
    const bench = runningSession(aPlan([task]));
    bench.decide();
    expect(bench.eventOf('task.scheduled').data).toMatchObject({ task: 'ask:2', agent: 'thinker' });
    expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toBe('think');
    broke(bench, 'ask:1');
    expect(tasksOf(bench)).toEqual(['task.abandoned ask:1']);
    done(bench, 'ask:2', 'yes');
    expect(tasksOf(bench)).toEqual(['task.completed ask 1']);
    expect(outputOf(bench)).toBe('yes');
  });

  it('ends with a quorum, and does not begin what is not needed any more', () => {
    const { bench } = fanned({ until: 'quorum', quorum: 2, parallelMax: 2 }, ['a', 'b', 'c', 'd']);
    done(bench, 'each:1', 'A');
    expect(tasksOf(bench)).toEqual(['task.scheduled each:3 1']);
    done(bench, 'each:3', 'C');
    expect(tasksOf(bench)).toEqual([
      'task.cancelled each:2 1',
      'task.completed each 1',
      'task.scheduled after 1',
    ]);
    expect(outputOf(bench)).toEqual(['A', null, 'C', null]);
  });

  it.each([
    ['fail', ['task.abandoned each:2', 'task.cancelled each:3 1', 'task.failed each 1']],
    ['continue', ['task.abandoned each:2']],
    ['substitute', ['task.abandoned each:2']],
  ] as const)('lets a branch fail as the policy %s says', (onBranchFailure, says) => {
    const { bench } = fanned({ onBranchFailure, substitute: '="no " & item' });
    done(bench, 'each:1', 'A');
    bench.decide();
    broke(bench, 'each:2');
    expect(tasksOf(bench).slice(0, says.length)).toEqual(says);
    if (onBranchFailure === 'fail') {
      expect(bench.eventOf('session.failed').data).toEqual({
        code: 'BRANCHES_FAILED',
        task: 'each',
      });
      return;
    }
    done(bench, 'each:3', 'C');
    bench.decide();
    const missing = onBranchFailure === 'continue' ? null : 'no b';
    expect(outputOf(bench)).toEqual(['A', missing, 'C']);
  });

  it('tries a branch again like any task, and fails when the quorum is out of reach', () => {
    const { bench } = fanned({ until: 'quorum', quorum: 3 });
    bench.append([taskFailed('each:1')], 'worker-pool');
    expect(tasksOf(bench)).toEqual(['task.retry-scheduled each:1 2']);
    broke(bench, 'each:2');
    expect(tasksOf(bench)).toContain('task.failed each 1');
    expect(bodyOf(bench.eventOf('session.failed').content.message)).toContain(
      'needs 3 of 3 branches; 1 failed: each:2 broke',
    );
  });

  it('stops all of it when the session is cancelled', () => {
    const { bench } = fanned({});
    const reason = { reason: text('enough') };
    bench.input(event('session.cancel-requested', { requestedBy: 'ann' }, reason));
    expect([...tasksOf(bench)].sort()).toEqual([
      'session.cancelled',
      'task.cancelled each 1',
      'task.cancelled each:1 1',
      'task.cancelled each:2 1',
      'task.cancelled each:3 1',
    ]);
  });
});

describe('review', () => {
  const review = (changes: Partial<Review> = {}): Review => ({
    pool: 'desk',
    agent: 'editor',
    input: { result: '=result', round: '=round' },
    accepted: 'review.accepted = true',
    remarks: '=review.remarks',
    roundsMax: 2,
    onExhausted: 'fail',
    ...changes,
  });
  const reviewed = (changes: Partial<Review> = {}) => {
    const input = { round: '=round', remarks: '=remarks', previous: '=previous' };
    const bench = runningSession(aPlan([aTask('write', { review: review(changes), input })]));
    bench.decide();
    return bench;
  };

  it('gives the result back with remarks until it is accepted', () => {
    const bench = reviewed();
    expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toEqual({
      ...{ round: 1, remarks: null, previous: null },
    });
    done(bench, 'write:1', 'draft');
    expect(tasksOf(bench)).toEqual(['task.expanded write 1', 'task.scheduled write:2 1']);
    expect(bench.eventOf('task.scheduled').data).toMatchObject({ pool: 'desk', agent: 'editor' });
    done(bench, 'write:2', { accepted: false, remarks: 'shorter' });
    expect(tasksOf(bench)).toEqual(['task.expanded write 1', 'task.scheduled write:3 1']);
    expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toEqual({
      ...{ round: 2, remarks: 'shorter', previous: 'draft' },
    });
    done(bench, 'write:3', 'better');
    bench.decide();
    done(bench, 'write:4', { accepted: true });
    expect(tasksOf(bench)).toEqual(['task.completed write 1']);
    expect(outputOf(bench)).toBe('better');
  });

  it.each(['fail', 'accept'] as const)(
    'after the last round it does as told: %s',
    (onExhausted) => {
      const bench = reviewed({ roundsMax: 1, onExhausted });
      done(bench, 'write:1', 'draft');
      bench.decide();
      done(bench, 'write:2', { accepted: false, remarks: 'no' });
      bench.decide();
      if (onExhausted === 'accept') expect(outputOf(bench)).toBe('draft');
      else expect(bench.eventOf('session.failed').data.code).toBe('REVIEW_NOT_ACCEPTED');
    },
  );
});

const paidCall = (costNanoUsd: number) => {
  const data = {
    ...{ call: 'call_1', claim: 'rec#0', provider: 'paid', model: 'paid/one' },
    ...{ finishReason: 'stop' as const, inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
    ...{ costNanoUsd, durationMs: 1, priceVersion: 'x', fromCache: false },
  };
  return event('model.completed', data as never, { message: text('Yes.') });
};

describe('loop', () => {
  const looped = (loop: Loop) => {
    const input = { iteration: '=iteration', previous: '=previous' };
    const bench = runningSession(aPlan([aTask('watch', { loop, input })]));
    return { bench, first: bench.says() };
  };

  it('runs at once again until its predicate holds', () => {
    const { bench, first } = looped({ wake: {}, exit: { when: 'output.ok', iterationsMax: 9 } });
    expect(first.slice(0, 3)).toEqual([
      ...['task.expanded watch 1', 'task.expanded watch 1', 'task.scheduled watch:1 1'],
    ]);
    done(bench, 'watch:1', { ok: false });
    expect(tasksOf(bench)).toEqual(['task.expanded watch 1', 'task.scheduled watch:2 1']);
    expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toEqual({
      ...{ iteration: 2, previous: { ok: false } },
    });
    done(bench, 'watch:2', { ok: true });
    expect(tasksOf(bench)).toEqual(['task.completed watch 1']);
    expect(outputOf(bench)).toEqual({ iterations: 2, exit: 'when', last: { ok: true } });
  });

  it('waits between two iterations, and ends after so many', () => {
    const { bench } = looped({ wake: { everyMs: 60_000 }, exit: { iterationsMax: 2 } });
    done(bench, 'watch:1', 'one');
    expect(bench.says()).toContain('timer.set supervisor/wake/watch/2');
    bench.fire('supervisor/wake/watch/2');
    expect(tasksOf(bench)).toEqual(['task.expanded watch 1', 'task.scheduled watch:2 1']);
    done(bench, 'watch:2', 'two');
    expect(tasksOf(bench)).toEqual(['task.completed watch 1']);
    expect(outputOf(bench)).toEqual({ iterations: 2, exit: 'iterations', last: 'two' });
  });

  it('ends at its deadline, also in the middle of an iteration', () => {
    const { bench, first } = looped({ wake: {}, exit: { deadlineMs: 5_000 } });
    expect(first).toContain('timer.set supervisor/task/watch/1');
    bench.fire('supervisor/task/watch/1');
    expect(tasksOf(bench)).toEqual(['task.cancelled watch:1 1', 'task.completed watch 1']);
    expect(outputOf(bench)).toEqual({ iterations: 1, exit: 'deadline', last: null });
  });

  it('ends with the iteration in which its sum is spent; what came before it does not count', () => {
    const spend = (bench: SupervisorBench, costNanoUsd: number) =>
      bench.append([paidCall(costNanoUsd)], 'input');
    const loop: Loop = { wake: {}, exit: { budgetNanoUsd: 100 } };
    const bench = runningSession(
      aPlan([aTask('ahead'), aTask('watch', { loop, needs: ['ahead'] })]),
    );
    bench.decide();
    spend(bench, 500);
    done(bench, 'ahead', 'there');
    expect(tasksOf(bench)).toContain('task.scheduled watch:1 1');
    spend(bench, 99);
    done(bench, 'watch:1', 'one');
    expect(tasksOf(bench)).toContain('task.scheduled watch:2 1');
    spend(bench, 1);
    // An iteration that has begun goes on.
    expect(tasksOf(bench)).toEqual([]);
    done(bench, 'watch:2', 'two');
    expect(tasksOf(bench)).toEqual(['task.completed watch 1']);
    expect(outputOf(bench)).toEqual({ iterations: 2, exit: 'budget', last: 'two' });
  });
});

it('a loop that listens waits for its signals, and takes them one by one', () => {
  const loop: Loop = { wake: { signals: ['alert'] }, exit: { iterationsMax: 2 } };
  const bench = runningSession(aPlan([aTask('watch', { loop, input: '=signal' })]));
  expect(tasksOf(bench)).toEqual(['task.expanded watch 1']);
  const signal = (id: string, name: string) => {
    const payload = { mediaType: 'application/json', body: { id } };
    bench.input(event('session.signalled', { signal: id, name }, { payload }));
  };
  signal('s0', 'other');
  expect(tasksOf(bench)).toEqual([]);
  signal('s1', 'alert');
  expect(tasksOf(bench)).toEqual(['task.expanded watch 1', 'task.scheduled watch:1 1']);
  expect(bodyOf(bench.eventOf('task.scheduled').content.input)).toEqual({
    ...{ name: 'alert', payload: { id: 's1' } },
  });
  signal('s2', 'alert');
  expect(tasksOf(bench)).toEqual([]);
  done(bench, 'watch:1', 'seen');
  expect(tasksOf(bench)).toEqual(['task.expanded watch 1', 'task.scheduled watch:2 1']);
  done(bench, 'watch:2', 'seen too');
  expect(tasksOf(bench)).toEqual(['task.completed watch 1']);
});
