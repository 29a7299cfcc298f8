import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical } from '../../../../services/chassis/protocol/hash.ts';
import { goalLogId } from '../../../../services/chassis/protocol/ids.ts';
import { intakeLogic } from '../../../../services/intake/decide.ts';
import { IntakeWorld, keyLog } from '../../../support/intake-world.ts';

/** Goals, cancels and ends in any order, with decisions and deliveries that come late. */

const sessions = ['ses_1', 'ses_2', 'ses_3', 'ses_4'];
const keyOf = (session: string): string | undefined => (session === 'ses_4' ? undefined : 'k');
const problem = { code: 'PLAN_UNKNOWN', field: 'plan' };
const logs = [...sessions.map(goalLogId), keyLog('k')];

type Step = Readonly<{ kind: number; choice: number }>;
const steps = fc.array(fc.record({ kind: fc.nat(9), choice: fc.nat(100) }), { maxLength: 120 });

function take(world: IntakeWorld, { kind, choice }: Step): void {
  const session = sessions[choice % sessions.length] ?? '';
  const log = logs[choice % logs.length] ?? '';
  const key = keyOf(session);
  if (kind === 0) world.receive(session, key === undefined ? {} : { key });
  else if (kind === 1) world.cancel(session);
  else if (kind === 2) world.end(session);
  else if (kind < 5) world.propose(log);
  else if (kind < 8) world.land(log);
  else world.deliver();
}

/** Sessions of the key that run now. */
const holders = (world: IntakeWorld): string[] =>
  [...world.running].filter((one) => keyOf(one) !== undefined);

function finish(world: IntakeWorld): void {
  for (let round = 0; round < 20; round++) {
    world.drain();
    expect(holders(world).length).toBeLessThanOrEqual(1);
    const [session] = world.running;
    if (session === undefined) return;
    world.end(session);
  }
}

const typesOf = (world: IntakeWorld, session: string): string[] =>
  world.logs.get(goalLogId(session))?.typesOf() ?? [];

test('every goal has one fate, goals of a key run one at a time, and every log comes to rest', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const world = new IntakeWorld();
      for (const step of list) {
        take(world, step);
        expect(holders(world).length).toBeLessThanOrEqual(1);
      }
      finish(world);
      for (const session of sessions) {
        const types = typesOf(world, session);
        if (types.length === 0) continue;
        const fates = types.filter((one) =>
          ['goal.admitted', 'goal.cancelled', 'goal.rejected'].includes(one),
        );
        expect(fates).toHaveLength(1);
        expect(types.filter((one) => one === 'goal.ended')).toHaveLength(1);
        expect(types.at(-1)).toBe('session.closed');
        const answers = world.published.filter(({ key }) => key === session).length;
        expect(answers).toBe(fates[0] === 'goal.admitted' ? 0 : 1);
      }
      const key = world.logs.get(keyLog('k'))?.state('intake');
      if (key !== undefined) expect(key).toMatchObject({ holder: null, queue: [], released: [] });
    }),
  );
});

/** A cancel whose last delivery has arrived: what is left to propose is the closing. */
const closesInTheEnd = [
  { kind: 0, choice: 23 },
  { kind: 1, choice: 35 },
  { kind: 3, choice: 98 },
  { kind: 5, choice: 28 },
  { kind: 8, choice: 0 },
];

test('deciding again after the own proposal was folded proposes nothing of it again', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const world = new IntakeWorld();
      for (const step of list) take(world, step);
      for (const [id, bench] of world.logs) {
        if (world.isClosed(id)) continue;
        world.land(id);
        const drafts = bench.propose('intake');
        bench.append(drafts, 'intake');
        // Nobody decides in a log that is closed.
        if (drafts.some(({ type }) => type === 'session.closed')) continue;
        const again = bench.propose('intake').map(canonical);
        for (const draft of drafts) expect(again).not.toContain(canonical(draft));
      }
    }),
    { examples: [[closesInTheEnd]] },
  );
});

test('a state that went through JSON decides the same', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const world = new IntakeWorld();
      world.receive('ses_x', { problem });
      for (const step of list) take(world, step);
      for (const bench of world.logs.values()) {
        const drafts = bench.propose('intake');
        const state = JSON.parse(canonical(bench.state('intake'))) as never;
        const again = intakeLogic.decide(state, {
          session: bench.meta,
          nowMs: bench.nowMs,
          facts: {},
          attachments: {},
          causes: [],
          openCalls: {},
          lost: {},
        });
        expect(canonical(again)).toBe(canonical(drafts));
      }
    }),
  );
});
