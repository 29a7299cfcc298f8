import { describe, expect, it } from 'vitest';
import type { Persisted } from '../../../../state-machines/fold.ts';
import {
  attemptsOf,
  type TaskMachineEvent,
  taskFold,
} from '../../../../state-machines/task/task-machine.ts';

const attemptsMax = 3;
const attempts = [0, 1, 2, 3, 4];
const counted = [
  'task.scheduled',
  'task.completed',
  'task.failed',
  'task.timed-out',
  'task.retry-scheduled',
] as const;
const plain = ['task.abandoned', 'task.skipped', 'task.cancelled'] as const;

const steps: readonly TaskMachineEvent[] = [
  ...counted.flatMap((type) => attempts.map((attempt) => ({ type, attempt }))),
  ...plain.map((type) => ({ type })),
];

/** The value that a step leads to, or undefined where it must be refused. */
function expected(state: Persisted, step: TaskMachineEvent): string | undefined {
  const attempt = 'attempt' in step ? step.attempt : -1;
  const current = attempt === attemptsOf(state);
  const next = attempt === attemptsOf(state) + 1;
  const live = ['pending', 'scheduled', 'failed', 'retrying'].includes(state.value);
  switch (step.type) {
    case 'task.scheduled':
      return next && ['pending', 'retrying'].includes(state.value) ? 'scheduled' : undefined;
    case 'task.completed':
      return current && state.value === 'scheduled' ? 'completed' : undefined;
    case 'task.failed':
    case 'task.timed-out':
      return current && state.value === 'scheduled' ? 'failed' : undefined;
    case 'task.retry-scheduled':
      return next && state.value === 'failed' ? 'retrying' : undefined;
    case 'task.abandoned':
      return live && state.value !== 'scheduled' ? 'abandoned' : undefined;
    case 'task.skipped':
      return state.value === 'pending' ? 'skipped' : undefined;
    case 'task.cancelled':
      return live ? 'cancelled' : undefined;
  }
}

const keyOf = (state: Persisted): string => `${state.value}/${attemptsOf(state)}`;

/** All states with at most `attemptsMax` attempts, by value and attempts. */
function reachable(): ReadonlyMap<string, Persisted> {
  const found = new Map([[keyOf(taskFold.initial()), taskFold.initial()]]);
  for (const state of found.values()) {
    for (const step of steps) {
      const next = taskFold.next(state, step);
      if (attemptsOf(next) <= attemptsMax && !found.has(keyOf(next))) found.set(keyOf(next), next);
    }
  }
  return found;
}

describe('the task machine', () => {
  it('reaches eight states', () => {
    const values = new Set([...reachable().values()].map((state) => state.value));
    expect([...values].sort()).toEqual([
      'abandoned',
      'cancelled',
      'completed',
      'failed',
      'pending',
      'retrying',
      'scheduled',
      'skipped',
    ]);
  });

  it('takes every legal step and refuses every other with the same object', () => {
    for (const [key, state] of reachable()) {
      for (const step of steps) {
        const target = expected(state, step);
        const next = taskFold.next(state, step);
        const what = `${key} ${JSON.stringify(step)}`;
        if (target === undefined) expect(next, what).toBe(state);
        else expect(next.value, what).toBe(target);
      }
    }
  });

  it('is done in its final states, and can leave every other', () => {
    const finals = ['completed', 'abandoned', 'skipped', 'cancelled'];
    for (const [key, state] of reachable()) {
      expect(state.done, key).toBe(finals.includes(state.value));
      expect(
        steps.some((step) => taskFold.can(state, step)),
        key,
      ).toBe(!state.done);
    }
  });

  it('counts an attempt when it is scheduled and at no other step', () => {
    for (const state of reachable().values()) {
      for (const step of steps) {
        const next = taskFold.next(state, step);
        const more = next !== state && step.type === 'task.scheduled' ? 1 : 0;
        expect(attemptsOf(next)).toBe(attemptsOf(state) + more);
      }
    }
  });

  it('goes on from a stored state as from a live one', () => {
    for (const state of reachable().values()) {
      const stored = JSON.parse(JSON.stringify(state)) as Persisted;
      for (const step of steps) {
        expect(taskFold.next(stored, step)).toEqual(taskFold.next(state, step));
      }
    }
  });
});
