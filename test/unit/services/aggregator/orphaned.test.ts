import { expect, test } from 'vitest';
import { event, text } from '../../../../schemas/event.ts';
import { aggregatorLogic } from '../../../../services/aggregator/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';

const opened = event(
  'session.opened',
  {
    goalId: 'g1',
    source: '',
    priority: 'normal',
    lane: 'normal',
    goalLog: 'goal_ses_test',
    openedAtMs: 1,
  },
  { goal: text('anything') },
);

const failed = (service: string) =>
  event('decision.failed', { service, code: 'DECISION_THREW' }, { message: text('boom') });

test('a session whose supervisor cannot decide ends, with a result that says so, and closes', () => {
  const bench = new BenchSession([{ logic: aggregatorLogic }]);
  bench.input(opened);
  bench.append([failed('supervisor')], 'supervisor');
  const written = bench.settle();
  expect(bench.typesOf(written)).toEqual(['session.failed', 'result.published']);
  const result = written[1];
  expect(result?.data).toMatchObject({ status: 'failed', code: 'DECISION_FAILED' });
  const { record, index } = result ?? { record: '', index: 0 };
  const delivered = event('delivery.acknowledged', {
    record,
    index,
    destinations: ['longrein.results'],
  });
  bench.append([delivered], 'aggregator');
  expect(bench.typesOf(bench.settle())).toEqual(['session.closed']);
});

test('another service that cannot decide is the supervisor’s business', () => {
  const bench = new BenchSession([{ logic: aggregatorLogic }]);
  bench.input(opened);
  bench.append([failed('planner')], 'planner');
  expect(bench.settle()).toEqual([]);
});
