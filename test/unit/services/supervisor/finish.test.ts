import { describe, expect, it } from 'vitest';
import { bodyOf, type Draft, event, json, text } from '../../../../schemas/event.ts';
import { aCall, aPlan, aTask, opened, taskCompleted } from '../../../support/plan-fixtures.ts';
import { runningSession, SupervisorBench } from '../../../support/supervisor-bench.ts';

const plan = aPlan([aTask('a'), aTask('b', { needs: ['a'] })]);
const cancel = event(
  'session.cancel-requested',
  { requestedBy: 'user:eve' },
  { reason: text('late') },
);

const decisionFailed = (service: string): Draft =>
  event('decision.failed', { service, code: 'DECISION_THREW' }, { message: text('boom') });

const agentCreated = event('agent.created', {
  agent: 'agt_a',
  task: 'a',
  attempt: 1,
  name: 'worker',
  version: '1.0.0',
  kind: 'procedure',
  pool: 'main',
});

const result = event('result.published', {
  status: 'completed',
  goalId: 'goal-1',
  goalLog: 'goal_ses_test',
  inputTokens: 0,
  outputTokens: 0,
  costNanoUsd: 0,
  openedAtMs: 1,
  endedAtMs: 2,
});

const completed = event(
  'session.completed',
  { completed: 1, failed: 0, skipped: 0, contradictions: 0 },
  { output: json({}) },
);

describe('ending a session', () => {
  it('cancels on request: the session, what runs, and the timers', () => {
    const bench = runningSession(plan, { timeoutMs: 60_000 });
    bench.decide();
    bench.input(cancel);
    expect(bench.says()).toEqual([
      'session.cancelled',
      'task.cancelled a 1',
      'timer.cancelled supervisor/session',
      'timer.cancelled supervisor/task/a/1',
    ]);
    const { data, content } = bench.eventOf('session.cancelled');
    expect(data).toEqual({ requestedBy: 'user:eve' });
    expect(bodyOf(content.reason)).toBe('late');
  });

  it('cancels a session that waits for its plan, also where the cancel came first', () => {
    const waiting = new SupervisorBench();
    waiting.input(opened());
    waiting.input(cancel);
    expect(waiting.says()).toEqual(['session.cancelled']);
    const early = new SupervisorBench();
    early.input(cancel);
    expect(early.says()).toEqual([]);
    early.input(opened());
    expect(early.says()).toEqual(['session.cancelled']);
  });

  it('ignores a cancel after the end', () => {
    const bench = runningSession(plan);
    bench.append([completed], 'aggregator');
    bench.input(cancel);
    expect(bench.says()).toEqual([]);
  });

  it('sets the timer of the session at its opening, and fails the session when it fires', () => {
    const bench = new SupervisorBench();
    bench.input(opened({ timeoutMs: 60_000 }));
    expect(bench.says()).toEqual(['timer.set supervisor/session']);
    expect(bench.eventOf('timer.set').data.dueAtMs).toBe(960_000);
    bench.fire('supervisor/session');
    expect(bench.says()).toEqual(['session.failed SESSION_TIMEOUT']);
  });

  it('fails with the violations of a rejected plan', () => {
    const bench = new SupervisorBench();
    bench.input(opened());
    const violations = [{ where: 'plan', reason: 'There is no plan "x".', fix: 'Name one of: a.' }];
    const data = { plan: 'x', code: 'PLAN_UNKNOWN', violations: 1 };
    bench.append([event('plan.rejected', data, { violations: json(violations) })], 'planner');
    expect(bench.says()).toEqual(['session.failed PLAN_REJECTED']);
    expect(bodyOf(bench.eventOf('session.failed').content.message)).toBe(
      'The plan "x" was rejected. There is no plan "x". Name one of: a.',
    );
  });

  it('fails when a service could not decide, and names it with its code', () => {
    const bench = runningSession(plan);
    bench.decide();
    bench.append([decisionFailed('worker-pool')], 'worker-pool');
    expect(bench.says().slice(0, 2)).toEqual([
      'session.failed DECISION_FAILED',
      'task.cancelled a 1',
    ]);
    const message = bodyOf(bench.eventOf('session.failed').content.message);
    expect(message).toBe('Service worker-pool could not decide (DECISION_THREW): boom');
  });

  it('ends for the first reason in the log where there are more', () => {
    const bench = runningSession(plan);
    bench.decide();
    bench.append([decisionFailed('tool-guard')], 'tool-guard');
    bench.input(cancel);
    expect(bench.says()[0]).toBe('session.failed DECISION_FAILED');
  });

  it('takes its timers back when the aggregator ended the session', () => {
    const bench = runningSession(plan, { timeoutMs: 60_000 });
    bench.decide();
    bench.append([completed], 'aggregator');
    expect(bench.says()).toEqual([
      'task.cancelled a 1',
      'timer.cancelled supervisor/session',
      'timer.cancelled supervisor/task/a/1',
    ]);
  });

  it('leaves a session alone that was decided otherwise before its turn was read', () => {
    const bench = runningSession(plan);
    bench.decide();
    bench.input(cancel);
    const late = bench.propose('supervisor');
    bench.append([taskCompleted('a', 1), completed], 'aggregator');
    bench.append(late, 'supervisor');
    expect(bench.says()).toEqual([]);
    bench.append([result], 'aggregator');
    const { record, index } = bench.eventOf('result.published');
    bench.append(
      [event('delivery.acknowledged', { record, index, destinations: [] })],
      'aggregator',
    );
    expect(bench.says()).toEqual(['session.closed']);
  });
});

describe('closing a session', () => {
  function endedSession(...before: readonly Draft[]) {
    const bench = runningSession(aPlan([aTask('a')]));
    bench.decide();
    bench.append([...before, taskCompleted('a', 1)], 'worker-pool');
    bench.append([completed, result], 'aggregator');
    bench.decide();
    const { record, index } = bench.eventOf('result.published');
    const acknowledged = event('delivery.acknowledged', { record, index, destinations: ['x'] });
    return { bench, acknowledged };
  }

  it('waits for the acknowledgement of the result, and of nothing else', () => {
    const { bench, acknowledged } = endedSession();
    const other = { ...acknowledged.data, index: acknowledged.data.index + 7 };
    bench.append([event('delivery.acknowledged', other)], 'aggregator');
    expect(bench.says()).toEqual([]);
    bench.append([acknowledged], 'aggregator');
    expect(bench.says()).toEqual(['session.closed']);
    expect(bench.propose('supervisor')).toEqual([]);
  });

  it('waits for calls that are claimed, not for unknown ones', () => {
    const { bench, acknowledged } = endedSession();
    bench.openCalls = { call_1: aCall() };
    bench.append([acknowledged], 'aggregator');
    expect(bench.says()).toEqual([]);
    bench.openCalls = { call_1: aCall({ status: 'unknown' }) };
    expect(bench.says()).toEqual(['session.closed']);
  });

  it('waits for agents and sandboxes to be gone', () => {
    const leased = { sandbox: 'sbx_1', call: 'call_1', isolation: 'wasm' };
    const { bench, acknowledged } = endedSession(agentCreated, event('sandbox.leased', leased));
    bench.append([acknowledged], 'aggregator');
    expect(bench.says()).toEqual([]);
    bench.append([event('agent.cleaned-up', { agent: 'agt_a' })], 'worker-pool');
    expect(bench.says()).toEqual([]);
    const released = { sandbox: 'sbx_1', call: 'call_1', exit: 'exited' as const };
    bench.append([event('sandbox.released', released)], 'sandbox-executor');
    expect(bench.says()).toEqual(['session.closed']);
  });

  it('does not wait for the agents of a service that decides no more', () => {
    const { bench, acknowledged } = endedSession(agentCreated);
    bench.append([acknowledged], 'aggregator');
    bench.append([decisionFailed('worker-pool')], 'worker-pool');
    expect(bench.says()).toEqual(['session.closed']);
  });
});
