import { expect, test } from 'vitest';
import { downcastState, upcastState } from '../../../../services/supervisor/saved-state.ts';
import type { SupervisorState } from '../../../../services/supervisor/state.ts';
import { aPlan, aTask } from '../../../support/plan-fixtures.ts';
import { runningSession } from '../../../support/supervisor-bench.ts';

test('a checkpoint holds timers by name, as releases before read them, and comes back as it was', () => {
  const bench = runningSession(aPlan([aTask('b'), aTask('a')]));
  bench.decide();
  const state = bench.state<SupervisorState>('supervisor');
  const saved = downcastState(state);
  expect(saved).toMatchObject({
    timers: {
      'supervisor/task/a/1': bench.nowMs + 5_000,
      'supervisor/task/b/1': bench.nowMs + 5_000,
    },
    living: {},
  });
  expect(upcastState(JSON.parse(JSON.stringify(saved)))).toEqual(JSON.parse(JSON.stringify(state)));
});
