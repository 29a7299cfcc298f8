import { describe, expect, it } from 'vitest';
import type { PlanDefinition, PlanOutput } from '../../../../schemas/definitions/plan.ts';
import {
  bodyOf,
  type DataOf,
  type Draft,
  event,
  type InputEventType,
  type SeenEvent,
  text,
} from '../../../../schemas/event.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { aggregatorLogic } from '../../../../services/aggregator/decide.ts';
import type { AggregatorState } from '../../../../services/aggregator/state.ts';
import { messageId } from '../../../../services/chassis/protocol/ids.ts';
import { problemOfDraft } from '../../../../services/chassis/protocol/validate.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  aCall,
  aPlan,
  aTask,
  opened,
  planTurn,
  taskCompleted,
} from '../../../support/plan-fixtures.ts';

type Goal = Partial<DataOf<'session.opened'>>;

function runningBench(plan: PlanDefinition, goal: Goal = {}, labels: Record<string, string> = {}) {
  const bench = new BenchSession([{ logic: aggregatorLogic }], { labels });
  bench.input(opened(goal, { inputs: { top: 3 } }));
  bench.append(planTurn(plan), 'planner');
  return bench;
}

const scheduled = (task: string): Draft =>
  event(
    'task.scheduled',
    { task, attempt: 1, pool: 'main', agent: 'worker', priority: 0, deadlineAtMs: 2_000_000 },
    { input: text('') },
  );

const abandoned = (task: string): Draft =>
  event(
    'task.abandoned',
    { task, attempts: 0, code: 'EXPRESSION', class: 'expression' },
    { message: text('no') },
  );

function complete(
  bench: BenchSession,
  outputs: Readonly<Record<string, JsonObject | string>>,
): void {
  for (const [task, output] of Object.entries(outputs)) {
    bench.append([scheduled(task)], 'supervisor');
    bench.append([taskCompleted(task, output)], 'worker-pool');
  }
}

/** One turn of the aggregator, checked against the schemas and decided again: then it is empty. */
function decideOnce(bench: BenchSession): readonly SeenEvent[] {
  const drafts = bench.propose('aggregator');
  expect(drafts.map((draft) => problemOfDraft(draft))).toEqual(drafts.map(() => undefined));
  const seen = bench.append(drafts, 'aggregator');
  expect(bench.propose('aggregator')).toEqual([]);
  return seen;
}

function find<T extends SeenEvent['type']>(events: readonly SeenEvent[], type: T): SeenEvent<T> {
  const found = events.find((one) => one.type === type);
  if (found === undefined) throw new Error(`there is no ${type}`);
  return found as SeenEvent<T>;
}

const two = aPlan([aTask('a'), aTask('b', { onFailure: 'continue' })]);
const merging = (output: Partial<PlanOutput>): PlanDefinition =>
  aPlan([aTask('a'), aTask('b')], { output: { kind: 'merge', conflict: 'first', ...output } });

describe('completing a session', () => {
  it('joins the outputs and publishes the result when every task is settled', () => {
    const bench = runningBench(two);
    complete(bench, { a: { n: 1 } });
    expect(bench.propose('aggregator')).toEqual([]);
    complete(bench, { b: { n: 2 } });
    const events = decideOnce(bench);
    expect(bench.typesOf(events)).toEqual(['session.completed', 'result.published']);
    const completed = find(events, 'session.completed');
    expect(completed.data).toEqual({ completed: 2, failed: 0, skipped: 0, contradictions: 0 });
    expect(bodyOf(completed.content.output)).toEqual({ a: { n: 1 }, b: { n: 2 } });
    expect(bodyOf(find(events, 'result.published').content.output)).toEqual({
      a: { n: 1 },
      b: { n: 2 },
    });
  });

  it('completes a plan without tasks', () => {
    const events = decideOnce(runningBench(aPlan([])));
    expect(bodyOf(find(events, 'session.completed').content.output)).toEqual({});
  });

  it('counts tasks that were given up or skipped where the plan goes on without them', () => {
    const tasks = [aTask('a'), aTask('b', { onFailure: 'continue' }), aTask('c', { needs: ['b'] })];
    const bench = runningBench(aPlan(tasks));
    complete(bench, { a: { n: 1 } });
    bench.append([abandoned('b')], 'supervisor');
    expect(bench.propose('aggregator')).toEqual([]);
    bench.append([event('task.skipped', { task: 'c', because: 'b' })], 'supervisor');
    const completed = find(decideOnce(bench), 'session.completed');
    expect(completed.data).toEqual({ completed: 1, failed: 1, skipped: 1, contradictions: 0 });
    expect(bodyOf(completed.content.output)).toEqual({ a: { n: 1 }, b: null, c: null });
  });

  it('leaves the ending to the supervisor where a task may not fail or a stop was asked', () => {
    const lost = runningBench(two);
    lost.append([abandoned('a')], 'supervisor');
    complete(lost, { b: { n: 2 } });
    expect(lost.propose('aggregator')).toEqual([]);
    const stopped = runningBench(two);
    complete(stopped, { a: { n: 1 }, b: { n: 2 } });
    stopped.input(event('session.cancel-requested', { requestedBy: 'user:eve' }));
    expect(stopped.propose('aggregator')).toEqual([]);
  });

  it('shows contradictions beside the merged output', () => {
    const bench = runningBench(merging({}));
    complete(bench, { a: { n: 1 }, b: { n: 2 } });
    const events = decideOnce(bench);
    const completed = find(events, 'session.completed');
    expect(completed.data.contradictions).toBe(1);
    expect(bodyOf(completed.content.output)).toEqual({ n: 1 });
    expect(bodyOf(completed.content.contradictions)).toEqual([
      {
        member: 'n',
        values: [
          { value: 1, tasks: ['a'] },
          { value: 2, tasks: ['b'] },
        ],
      },
    ]);
    expect(bodyOf(find(events, 'result.published').content.message)).toContain('in "n"');
  });

  it('fails the session over contradictions under the rule fail', () => {
    const bench = runningBench(merging({ conflict: 'fail' }));
    complete(bench, { a: { n: 1 }, b: { n: 2 } });
    const events = decideOnce(bench);
    expect(bench.typesOf(events)).toEqual(['session.failed', 'result.published']);
    expect(find(events, 'session.failed').data).toEqual({ code: 'OUTPUT_CONFLICT' });
    expect(find(events, 'result.published').data).toMatchObject({
      status: 'failed',
      code: 'OUTPUT_CONFLICT',
    });
  });

  it('fails the session where a task to merge gave no object', () => {
    const bench = runningBench(merging({}));
    complete(bench, { a: { n: 1 }, b: 'text' });
    expect(find(decideOnce(bench), 'session.failed').data.code).toBe('OUTPUT_NOT_MERGEABLE');
  });

  it('shapes the output over all that the plan may see', () => {
    const shape = {
      top: '=inputs.top',
      goal: '=goal',
      both: '=tasks.a.n + tasks.b.n',
      joined: '=joined.n',
      disputed: '=contradictions.member',
    };
    const bench = runningBench(merging({ shape }));
    complete(bench, { a: { n: 1 }, b: { n: 2 } });
    expect(bodyOf(find(decideOnce(bench), 'session.completed').content.output)).toEqual({
      top: 3,
      goal: 'look at it',
      both: 3,
      joined: 1,
      disputed: 'n',
    });
  });

  it('fails the session where the shape cannot be evaluated, and says where', () => {
    const bench = runningBench(merging({ shape: { n: '=$number("x")' } }));
    complete(bench, { a: { n: 1 }, b: { n: 1 } });
    const failed = find(decideOnce(bench), 'session.failed');
    expect(failed.data.code).toBe('OUTPUT_SHAPE');
    expect(bodyOf(failed.content.message)).toContain('plan audit, output.shape.n');
  });

  it('publishes the ending that counts where another came before its own turn', () => {
    const bench = runningBench(two);
    complete(bench, { a: { n: 1 }, b: { n: 2 } });
    const late = bench.propose('aggregator');
    bench.append([event('session.cancelled', { requestedBy: 'user:eve' })], 'supervisor');
    const before = bench.state<AggregatorState>('aggregator');
    bench.append(late, 'aggregator');
    expect(bench.state<AggregatorState>('aggregator')).toBe(before);
    const [published] = decideOnce(bench);
    expect(published).toMatchObject({ type: 'result.published', data: { status: 'cancelled' } });
  });

  it('keeps no outputs once the result is out', () => {
    const bench = runningBench(two);
    complete(bench, { a: { n: 1 }, b: { n: 2 } });
    decideOnce(bench);
    const { tasks, ending, scope } = bench.state<AggregatorState>('aggregator');
    expect({ tasks, ending, scope }).toEqual({ tasks: [], ending: null, scope: null });
  });
});

const modelUsage = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
const modelOutcome = { claim: 'c', attempt: 1, provider: 'p', model: 'm', costKnown: true };

const modelCompleted = event(
  'model.completed',
  {
    ...{ ...modelOutcome, ...modelUsage, call: 'call_1', finishReason: 'stop', toolCalls: 0 },
    ...{ inputTokens: 100, outputTokens: 20, costNanoUsd: 5_000, priceVersion: 'v', durationMs: 9 },
  },
  { message: text('yes') },
);

const modelFailed = event(
  'model.failed',
  {
    ...{ ...modelOutcome, ...modelUsage, call: 'call_2', code: 'X', class: 'overloaded' },
    ...{ inputTokens: 7, outputTokens: 0, costNanoUsd: 50, priceVersion: 'v', durationMs: 9 },
    retryable: true,
  },
  { message: text('no') },
);

describe('publishing the result', () => {
  const failure = event(
    'session.failed',
    { code: 'TOOL_FAILED', task: 'a' },
    { message: text('a broke') },
  );

  it('waits until no claimed call runs', () => {
    const bench = runningBench(two);
    bench.append([failure], 'supervisor');
    bench.openCalls = { call_1: aCall() };
    expect(bench.propose('aggregator')).toEqual([]);
    bench.openCalls = { call_1: aCall({ status: 'unknown' }) };
    expect(bench.typesOf(decideOnce(bench))).toEqual(['result.published']);
  });

  it('sums what completed and failed model calls used', () => {
    const bench = runningBench(two);
    bench.input(modelCompleted);
    bench.input(modelFailed);
    bench.append([failure], 'supervisor');
    expect(find(decideOnce(bench), 'result.published').data).toEqual({
      status: 'failed',
      goalId: 'goal-1',
      goalLog: 'goal_ses_test',
      code: 'TOOL_FAILED',
      task: 'a',
      inputTokens: 107,
      outputTokens: 20,
      costNanoUsd: 5_050,
      openedAtMs: 900_000,
      endedAtMs: bench.nowMs,
    });
  });

  function messagesOf(bench: BenchSession) {
    const published = find(decideOnce(bench), 'result.published');
    return aggregatorLogic.deliveries?.(published, bench.meta) ?? [];
  }

  it.each(['model.completed', 'model.failed', 'model.attempt-failed'] as const)(
    'says that nobody knows all of the cost, where %s says so; what is known is summed up',
    (type) => {
      const bench = runningBench(two);
      const { data, content } = type === 'model.completed' ? modelCompleted : modelFailed;
      const unknown = { ...data, costKnown: false, costNanoUsd: 0 };
      const tried = type === 'model.attempt-failed' ? { try: 1 } : {};
      // One of before there was such a word: results of those sessions stay as they were.
      bench.input({ type, data: { ...unknown, ...tried }, content } as Draft<InputEventType>);
      bench.append([failure], 'supervisor');
      expect(JSON.stringify(messagesOf(bench))).not.toContain('costKnown');

      const anew = runningBench(two);
      const least = { ...unknown, ...tried, costIsLeast: true };
      anew.input({ type, data: least, content } as Draft<InputEventType>);
      anew.input(modelCompleted);
      anew.append([failure], 'supervisor');
      const [message] = messagesOf(anew);
      expect(message).toMatchObject({
        value: { usage: { costNanoUsd: 5_000, costKnown: false } },
      });
    },
  );

  it('delivers a failed result to the public topic and the end to the log of the goal', () => {
    const bench = runningBench(two, { valueNanoUsd: 9 }, { team: 'core' });
    bench.append([failure], 'supervisor');
    expect(messagesOf(bench)).toEqual([
      {
        to: 'public',
        topic: 'longrein.results',
        key: 'ses_test',
        type: 'longrein.result.v1',
        id: messageId('ses_test', ['result']),
        value: {
          goalId: 'goal-1',
          session: 'ses_test',
          status: 'failed',
          error: { code: 'TOOL_FAILED', message: 'a broke', task: 'a' },
          usage: { inputTokens: 0, outputTokens: 0, costNanoUsd: 0 },
          valueNanoUsd: 9,
          labels: { team: 'core' },
          openedAt: '1970-01-01T00:15:00.000Z',
          endedAt: '1970-01-01T00:16:40.000Z',
        },
      },
      {
        to: 'log',
        topic: 'longrein.keys',
        session: 'goal_ses_test',
        identity: ['ended', 'ses_test'],
        event: event('session.ended', { session: 'ses_test', status: 'failed' }),
      },
    ]);
  });

  it('delivers a completed result with its output and without an error', () => {
    const bench = runningBench(two);
    complete(bench, { a: { n: 1 }, b: { n: 2 } });
    const [message] = messagesOf(bench);
    expect(message?.to === 'public' && message.value).toEqual({
      goalId: 'goal-1',
      session: 'ses_test',
      status: 'completed',
      output: { a: { n: 1 }, b: { n: 2 } },
      usage: { inputTokens: 0, outputTokens: 0, costNanoUsd: 0 },
      openedAt: '1970-01-01T00:15:00.000Z',
      endedAt: '1970-01-01T00:16:40.000Z',
    });
  });

  it('says in a cancelled result who asked for it and why', () => {
    const bench = runningBench(two);
    const reason = { reason: text('too slow') };
    bench.append([event('session.cancelled', { requestedBy: 'user:eve' }, reason)], 'supervisor');
    const [message] = messagesOf(bench);
    expect(message?.to === 'public' && message.value.error).toEqual({
      code: 'SESSION_CANCELLED',
      message: 'Cancelled by user:eve: too slow',
    });
  });

  it('delivers nothing for other events', () => {
    const bench = runningBench(two);
    const [first] = bench.events;
    expect(first && aggregatorLogic.deliveries?.(first, bench.meta)).toEqual([]);
  });
});
