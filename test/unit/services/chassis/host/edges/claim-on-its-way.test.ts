import { expect, test } from 'vitest';
import type { LogPort, OutgoingRecord } from '../../../../../../services/chassis/log/port.ts';
import {
  CounterWorld,
  callMs,
  granted,
  sent,
  sessionIn,
  topic,
} from '../../../../../support/counter-world.ts';

/**
 * DESIGN 3.9: a claim that the broker acknowledged, and that its host has not read back, when the group takes the partition
 * away. It counts, and nobody else may carry it out; so its host reads on until it has seen it.
 */

const sessions = [0, 1].map(sessionIn);

const claims = ({ headers }: OutgoingRecord): boolean =>
  (headers['lr_types'] ?? '').split(',').includes('tool.claimed');

/** Longer than it takes another host to come and the partition to be let go. */
const lateMs = 8_000;

/** A host that hears session logs late from its first claim on; something it has not heard stands before each claim. */
async function hearingLate(): Promise<CounterWorld> {
  const before = new Set(sessions);
  let isLate = false;
  const world: CounterWorld = await CounterWorld.start({
    append: (_at, records) => {
      const session = records.find(claims)?.headers['ce_subject'] ?? '';
      if (!before.delete(session)) return 'ok';
      world.clock.after(0, () => {
        isLate = true;
      });
      world.send(session, sent());
      return 'ok';
    },
  });
  const late = (log: LogPort): LogPort => ({
    ...log,
    reader: (handlers) =>
      log.reader({
        ...handlers,
        onRecords: (at, records) => {
          const hear = (): void => handlers.onRecords(at, records);
          if (isLate && at.topic === topic) world.clock.after(lateMs, hear);
          else hear();
        },
      }),
  });
  await world.startHost('one', 300, late);
  return world;
}

test('a claim that was acknowledged before its partition was lost is read back, and its effect runs', async () => {
  const world = await hearingLate();
  for (const session of sessions) world.open(session);
  await world.clock.run(500);
  for (const session of sessions) world.send(session, granted());
  await world.clock.run(100);
  expect(sessions.map((one) => world.typesOf(one).includes('tool.claimed'))).toEqual([true, true]);
  expect(world.started).toEqual([]);
  const fromMs = world.clock.nowMs();
  await world.startHost('two');
  await world.clock.run(15_000);
  expect(world.clock.nowMs() - fromMs).toBeLessThan(callMs);
  expect(world.started).toEqual(['c1', 'c1']);
  for (const session of sessions)
    expect(world.countOf(session)).toMatchObject({ claims: 1, outcomes: 1, answered: 1 });
  expect(sessions.flatMap((one) => world.typesOf(one))).not.toContain('tool.unknown');
});
