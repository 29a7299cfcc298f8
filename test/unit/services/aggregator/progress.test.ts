import { expect, it } from 'vitest';
import type { PlanDefinition } from '../../../../schemas/definitions/plan.ts';
import { type DataOf, event, json, type SeenEvent, text } from '../../../../schemas/event.ts';
import { aggregatorLogic } from '../../../../services/aggregator/decide.ts';
import type { AggregatorState } from '../../../../services/aggregator/state.ts';
import { problemOfDraft } from '../../../../services/chassis/protocol/validate.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { aPlan, aTask, opened, planTurn, taskCompleted } from '../../../support/plan-fixtures.ts';

const telling = (tasks = [aTask('a'), aTask('b')]): PlanDefinition => ({
  ...aPlan(tasks),
  progress: true,
});

function running(plan: PlanDefinition, goal: Partial<DataOf<'session.opened'>> = {}): BenchSession {
  const bench = new BenchSession([{ logic: aggregatorLogic }]);
  bench.input(opened(goal));
  bench.append(planTurn(plan), 'planner');
  return bench;
}

const scheduled = (task: string) =>
  event(
    'task.scheduled',
    { task, attempt: 1, pool: 'main', agent: 'worker', priority: 0, deadlineAtMs: 2_000_000 },
    { input: text('') },
  );

function complete(bench: BenchSession, task: string, output: string): void {
  bench.append([scheduled(task)], 'supervisor');
  bench.append([taskCompleted(task, output)], 'worker-pool');
}

/** One turn of the aggregator; decided again it is empty. */
function decide(bench: BenchSession): readonly SeenEvent[] {
  const drafts = bench.propose('aggregator');
  for (const draft of drafts) expect(problemOfDraft(draft)).toBeUndefined();
  const seen = bench.append(drafts, 'aggregator');
  expect(bench.propose('aggregator')).toEqual([]);
  return seen;
}

const messages = (bench: BenchSession, seen: readonly SeenEvent[]) =>
  seen.flatMap((one) => aggregatorLogic.deliveries?.(one, bench.meta) ?? []);

it('a part that gave its output is told once, in front of the result', () => {
  const bench = running(telling());
  complete(bench, 'a', 'first');
  const seen = decide(bench);
  expect(seen.map(({ type }) => type)).toEqual(['progress.published']);
  const [message] = messages(bench, seen);
  expect(message).toMatchObject({
    ...{ to: 'public', topic: 'longrein.results', key: 'ses_test', type: 'longrein.progress.v1' },
    value: {
      ...{ session: 'ses_test', progress: { task: 'a', completed: 1, tasks: 2 }, output: 'first' },
    },
  });
  complete(bench, 'b', 'second');
  // The last part is told by the result.
  expect(decide(bench).map(({ type }) => type)).toEqual(['session.completed', 'result.published']);
});

it('a branch of a fan-out is a part; a late answer for it is none', () => {
  const each = aTask('each', {
    fanOut: {
      ...{ over: '=[1, 2]', itemsMax: 2, parallelMax: 2, until: 'all', onBranchFailure: 'fail' },
    },
  });
  const bench = running(telling([each, aTask('b')]));
  const born = {
    task: 'each',
    attempt: 1,
    kind: 'branch',
    first: 1,
    count: 2,
    begins: true,
  } as const;
  bench.append([event('task.expanded', born, { scopes: json([{}, {}]) })], 'supervisor');
  complete(bench, 'each:2', 'two');
  expect(decide(bench).map(({ data }) => data)).toMatchObject([{ task: 'each:2', completed: 0 }]);
  bench.append(
    [taskCompleted('each:2', 'again'), taskCompleted('each:1', 'never begun')],
    'worker-pool',
  );
  expect(decide(bench)).toEqual([]);
});

it('whether it arrives is nothing to the result, nor to who closes the session', () => {
  const bench = running(telling());
  complete(bench, 'a', 'first');
  const [told] = decide(bench);
  const at = { record: told?.record ?? '', index: told?.index ?? 0 };
  const content = { message: text('too large') };
  bench.append([event('delivery.refused', { ...at, code: 'TOO_LARGE' }, content)], 'aggregator');
  const state = bench.state<AggregatorState>('aggregator');
  expect(state.progress?.underWay).toEqual([]);
  expect(state.refused).toBeUndefined();
  complete(bench, 'b', 'second');
  expect(decide(bench).map(({ type }) => type)).toEqual(['session.completed', 'result.published']);
});

it('neither a plan that does not ask for it nor a child session tells parts', () => {
  const quiet = running(aPlan([aTask('a'), aTask('b')]));
  complete(quiet, 'a', 'first');
  expect(decide(quiet)).toEqual([]);
  const parent = { session: 'ses_parent', lane: 'normal', task: 'each', ordinal: 1 };
  const child = running(telling(), { parent } as Partial<DataOf<'session.opened'>>);
  complete(child, 'a', 'first');
  expect(decide(child)).toEqual([]);
});
