import { describe, expect, test } from 'vitest';
import { firstFailureOf } from '../../../../replay-tools/first-failure/first-failure.ts';
import { firstFailureLines } from '../../../../replay-tools/first-failure/first-failure-text.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { labelledFailures, labelledIn, runLabelled } from '../../../support/labelled-failures.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

const historyOf = async (world: MemoryWorld, session: string): Promise<History> =>
  new History(await judgeSession(await sourceFromWorld(world, session)));

describe.each(labelledFailures)('$name', (labelled) => {
  test('is found, and is not the first event that failed', async () => {
    const { world, session } = await runLabelled(labelled);
    const history = await historyOf(world, session);
    const found = firstFailureOf(history);
    expect(found.first.address).toBe(labelledIn(history, labelled));
    const firstFailed = history.entries.find(({ event }) => event.type.endsWith('.failed'));
    expect(found.first.address).not.toBe(firstFailed?.address);
    expect(found.chain.at(-1)).toBe(found.outcome);
    expect(found.because).not.toBe('');
    const [head = ''] = firstFailureLines(history, found);
    expect(head).toContain(`${found.first.place} ${found.first.event.type} made it inevitable: `);
  });
});

test('a session that did not fail, and one that still runs, are said to be so', async () => {
  const world = await MemoryWorld.start({ seed: 32 });
  const { session } = world.publishGoal({ goal: 'Say hello.', plan: 'echo' });
  const inputs = { counter: 'c', waitMs: 50_000 };
  const waiting = world.publishGoal({ goal: 'Wait.', plan: 'count', inputs });
  await world.clock.run(5_000);
  const done = await historyOf(world, session);
  expect(() => firstFailureOf(done)).toThrowError(
    expect.objectContaining({ code: 'SESSION_NOT_FAILED' }),
  );
  const running = await historyOf(world, waiting.session);
  expect(() => firstFailureOf(running)).toThrowError(
    expect.objectContaining({ code: 'SESSION_RUNNING' }),
  );
});
