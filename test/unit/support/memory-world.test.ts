import { expect, test } from 'vitest';
import { MemoryWorld } from '../../support/memory-world.ts';

test('try', async () => {
  const world = await MemoryWorld.start({ seed: 1 });
  const t0 = Date.now();
  world.publishGoal({ goal: 'say hello', plan: 'echo' });
  world.publishGoal({ goal: 'flaky', plan: 'flaky' });
  world.publishGoal({ goal: 'ask', plan: 'ask' });
  world.publishGoal({ goal: 'hurry', plan: 'hurry' });
  world.publishGoal({ goal: 'bad', plan: 'nope' });
  const done = await world.runUntilDone();
  console.log(done, Date.now() - t0, world.results(), world.unclosed(), world.records().length);
  expect(world.fatal).toEqual([]);
  for (const r of world.records('longrein.keys').filter((r) => r.headers['ce_subject'] === 'goal_' + world.published[0]?.session)) console.log(r.offset, r.headers['ce_time'], r.headers['lr_kind'], r.headers['lr_service'], r.headers['lr_types'], JSON.stringify((world.codec.decode(r.value!).body as any).causes), JSON.stringify((world.codec.decode(r.value!).body as any).facts?.data));
});
