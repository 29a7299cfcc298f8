import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Replacement } from '../../../../schemas/definitions/agent.ts';
import { event, type SeenEvent, text } from '../../../../schemas/event.ts';
import type { RecoveryPolicy } from '../../../../services/chassis/catalog/recovery-policy.ts';
import { finalCodes, triedMax } from '../../../../services/chassis/effects/tried.ts';
import {
  climbed,
  nextRung,
  type Rung,
  workerOf,
} from '../../../../services/supervisor/recovery.ts';
import type { TaskFailure, TaskState } from '../../../../services/supervisor/state.ts';
import { taskFold } from '../../../../state-machines/task/task-machine.ts';
import { aTask } from '../../../support/plan-fixtures.ts';

/** Steps of an error policy, for any policy and any failures. */

const replacement: fc.Arbitrary<Replacement> = fc.oneof(
  fc.constantFrom('m1', 'm2').map((model) => ({ model })),
  fc.constantFrom('a1', 'a2').map((agent) => ({ agent })),
);
const policies: fc.Arbitrary<RecoveryPolicy> = fc.record({
  restart: fc.nat(10),
  replaceWith: fc.array(replacement, { maxLength: 8 }),
  escalationsMax: fc.nat(10),
  resumes: fc.boolean(),
  ladder: fc.constant(true),
});
type Way = Readonly<{ code: string; class: TaskFailure['class']; acted: boolean }>;
const ways: fc.Arbitrary<Way> = fc.record({
  code: fc.constantFrom('BROKE', 'BROKE', 'BROKE', 'BROKE', ...finalCodes),
  class: fc.constantFrom(
    ...(['tool-error', 'timeout', 'budget', 'unknown-outcome', 'cancelled', 'step-limit'] as const),
  ),
  acted: fc.boolean(),
});

const failureOf = ({ code, class: kind }: Way): TaskFailure => ({
  ...{ code, class: kind, retryable: false, message: 'It broke.', seed: 's' },
});

const firstTask: TaskState = {
  definition: aTask('a'),
  machine: taskFold.initial(),
  ...{ needed: false, dueAtMs: 0, fired: null, failure: null, output: null },
};

function after(task: TaskState, failure: TaskFailure, rung: Rung): TaskState {
  const failed = { ...task, failure };
  const data = { task: 'a', attempt: 2, dueAtMs: 0, code: failure.code };
  const recovery = { ...rung, class: failure.class };
  const draft = event('task.retry-scheduled', { ...data, recovery }, { reason: text('') });
  return { ...failed, ...climbed(failed, draft as unknown as SeenEvent<'task.retry-scheduled'>) };
}

const order = ['restart', 'replace', 'escalate'];

/** All steps until none follows, with what each followed from. */
function climb(policy: RecoveryPolicy, failures: readonly Way[]) {
  let task = firstTask;
  const steps: Readonly<{ rung: Rung; way: Way; acted: boolean; task: TaskState }>[] = [];
  for (const way of failures) {
    const acted = way.acted || task.acted === true;
    const state: TaskState = acted ? { ...task, acted: true } : task;
    const rung = nextRung(policy, state, failureOf(way));
    if (rung === undefined) return { steps, ended: true };
    task = after(state, failureOf(way), rung);
    steps.push({ rung, way, acted, task });
  }
  return { steps, ended: false };
}

const enough = { minLength: 40, maxLength: 40 };

test('H1: attempts are bounded by the policy, each step comes so often as it says, and in its order', () => {
  fc.assert(
    fc.property(policies, fc.array(ways, enough), (policy, failures) => {
      const { steps, ended } = climb(policy, failures);
      expect(ended).toBe(true);
      const count = (step: Rung['step']) => steps.filter(({ rung }) => rung.step === step).length;
      expect(count('restart')).toBeLessThanOrEqual(policy.restart);
      expect(count('replace')).toBeLessThanOrEqual(policy.replaceWith.length);
      expect(count('escalate')).toBeLessThanOrEqual(policy.escalationsMax);
      const places = steps.map(({ rung }) => order.indexOf(rung.step));
      expect(places).toEqual([...places].sort());
    }),
  );
});

test('H2: after a call that must not be made twice nobody begins anew', () => {
  fc.assert(
    fc.property(policies, fc.array(ways, enough), (policy, failures) => {
      for (const { rung, acted } of climb(policy, failures).steps) {
        if (!acted) continue;
        expect(rung.agent).toBeUndefined();
        if (rung.step !== 'escalate') expect(policy.resumes).toBe(true);
      }
    }),
  );
});

test('H3: nothing follows what a person has decided, nor an end that was wanted', () => {
  fc.assert(
    fc.property(policies, fc.array(ways, enough), (policy, failures) => {
      for (const { way } of climb(policy, failures).steps) {
        expect(finalCodes.has(way.code)).toBe(false);
        expect(way.class).not.toBe('cancelled');
      }
    }),
  );
});

test('who takes over works on, and no more is told than was tried', () => {
  fc.assert(
    fc.property(policies, fc.array(ways, enough), (policy, failures) => {
      let agent = firstTask.definition.agent;
      for (const { rung, task } of climb(policy, failures).steps) {
        agent = rung.step === 'escalate' ? firstTask.definition.agent : (rung.agent ?? agent);
        expect(workerOf(task)).toBe(agent);
        expect(task.ladder?.tried.length).toBeLessThanOrEqual(triedMax);
      }
    }),
  );
});
