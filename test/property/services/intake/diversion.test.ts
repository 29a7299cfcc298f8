import fc from 'fast-check';
import { expect, test } from 'vitest';
import { goalLogId } from '../../../../services/chassis/protocol/ids.ts';
import { IntakeWorld, keyLog } from '../../../support/intake-world.ts';

/**
 * Goals of one key, of which the one that has its turn is woken by the others. Cancels, ends of loops and sessions, and
 * decisions and deliveries that come late, in any order.
 */

const sessions = ['ses_1', 'ses_2', 'ses_3', 'ses_4'];
const logs = [...sessions.map(goalLogId), keyLog('k')];

type Step = Readonly<{ kind: number; choice: number }>;
const step = fc.record({ kind: fc.nat(24), choice: fc.nat(100) });
const steps = fc.array(step, { minLength: 60, maxLength: 200 });

function end(world: IntakeWorld, session: string): void {
  if (world.running.has(session)) world.unwatch(session, 'k');
  world.end(session);
}

function take(world: IntakeWorld, { kind, choice }: Step): void {
  const session = sessions[choice % sessions.length] ?? '';
  const log = logs[choice % logs.length] ?? '';
  if (kind === 0) world.cancel(session);
  else if (kind === 1) end(world, session);
  else if (kind === 2) world.unwatch(session, 'k');
  else if (kind < 5) for (const one of world.running) world.watch(one, 'k');
  else if (kind < 7)
    for (const one of world.watching.keys())
      world.settle(one, choice % 3 === 0 ? 'returned' : 'taken');
  else if (kind < 13) world.propose(log);
  else if (kind < 19) world.land(log);
  else world.deliver();
}

function finish(world: IntakeWorld): void {
  for (let round = 0; round < 20; round++) {
    world.drain();
    expect(world.running.size).toBeLessThanOrEqual(1);
    const [session] = world.running;
    if (session === undefined) return;
    end(world, session);
  }
}

const fates = ['goal.admitted', 'goal.cancelled', 'goal.rejected', 'goal.taken'];

test('each has one fate and one answer, none is waited for in vain, and every log comes to rest', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(steps, (list) => {
      const world = new IntakeWorld();
      for (const session of sessions) world.receive(session, { key: 'k' });
      for (const one of list) take(world, one);
      finish(world);
      for (const session of sessions) {
        const types = world.log(goalLogId(session)).typesOf();
        const own = types.filter((type) => fates.includes(type));
        expect(own).toHaveLength(1);
        expect(types.at(-1)).toBe('session.closed');
        const answers = world.published.filter(({ key }) => key === session).length;
        expect(answers).toBe(own[0] === 'goal.admitted' ? 0 : 1);
        for (const type of types) seen.add(type);
      }
      for (const session of world.watching.keys())
        expect([session, world.isQuiet(session)]).toEqual([session, true]);
      const key = world.logs.get(keyLog('k'));
      for (const type of key?.typesOf() ?? []) seen.add(type);
      if (key === undefined) return;
      expect(key.state('intake')).toMatchObject({ holder: null, queue: [], released: [] });
    }),
    { numRuns: 1_000, seed: 7 },
  );
  const needed = ['goal.taken', 'goal.wake-settled', 'key.diversion-withdrawn'];
  expect([...seen]).toEqual(expect.arrayContaining(needed));
});
