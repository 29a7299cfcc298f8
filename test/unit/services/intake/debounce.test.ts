/** Goals of one key that stand for each other. */
import { expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../schemas/event.ts';
import { keyLogId } from '../../../../services/chassis/protocol/ids.ts';
import { debounceTimer } from '../../../../services/intake/debounce.ts';
import { intakeLogic } from '../../../../services/intake/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';

const debounceMs = 1_000;
const newKey = () =>
  new BenchSession([{ logic: intakeLogic }], { session: keyLogId('default', 'red') });
const goal = (name: string) =>
  event('key.requested', { goalLog: name, session: `ses_${name}`, debounceMs });

function brief(one: Pick<SeenEvent, 'type' | 'data'>): string {
  if (one.type === 'timer.set') return `timer ${(one.data as { dueAtMs: number }).dueAtMs}`;
  return `${one.type.replace('key.', '')} ${(one.data as { goalLog: string }).goalLog}`;
}

function decide(key: BenchSession): readonly string[] {
  const drafts = key.propose('intake');
  const seen = drafts.length === 0 ? [] : key.append(drafts, 'intake');
  expect(key.propose('intake')).toEqual([]);
  return seen.map(brief);
}

test('each waits for a newer one, which takes its place; the last one gets its turn', () => {
  const key = newKey();
  const atMs = key.nowMs;
  key.input(goal('g1'));
  expect(decide(key)).toEqual([`timer ${atMs + 1_000}`]);
  key.nowMs += 600;
  key.input(goal('g2'));
  expect(decide(key)).toEqual(['denied g1', `timer ${atMs + 1_600}`]);
  key.nowMs += 1_000;
  expect(decide(key)).toEqual(['settled g2', 'assigned g2']);
  // A newer one is another turn, once the key is free.
  key.input(goal('g3'));
  decide(key);
  key.nowMs += 1_000;
  expect(decide(key)).toEqual(['settled g3']);
  key.input(event('key.released', { goalLog: 'g2' }));
  expect(decide(key)).toEqual(['freed g2', 'assigned g3']);
});

test('goals that never cease wait ten times as long, and no longer', () => {
  const key = newKey();
  const fromMs = key.nowMs;
  const turns: number[] = [];
  for (let n = 0; n < 30; n += 1) {
    key.input(goal(`g${n}`));
    if (decide(key).some((one) => one.startsWith('assigned'))) turns.push(key.nowMs - fromMs);
    key.nowMs += 900;
  }
  expect(turns[0]).toBeGreaterThanOrEqual(9_900);
  expect(turns[0]).toBeLessThanOrEqual(10_800);
});

test('a decision that a newer goal overtakes: the older one has its turn, the newer waits on', () => {
  const key = newKey();
  key.input(goal('g1'));
  decide(key);
  key.nowMs += 1_000;
  const overtaken = key.propose('intake');
  key.input(goal('g2'));
  key.append(overtaken, 'intake');
  expect(key.state('intake')).toMatchObject({ holder: 'g1', settling: { goalLog: 'g2' } });
  expect(decide(key)).toEqual([`timer ${key.nowMs + 1_000}`]);
});

test('the newest goes away before the older one was turned away: that one waits again', () => {
  const key = newKey();
  key.input(goal('g1'));
  key.input(goal('g2'));
  key.input(event('key.released', { goalLog: 'g2' }));
  expect(decide(key)[0]).toBe('freed g2');
  key.nowMs += 1_000;
  expect(decide(key)).toEqual(['settled g1', 'assigned g1']);
});

test('the newest goes away while the older one is turned away: nobody is left', () => {
  const key = newKey();
  key.input(goal('g1'));
  key.input(goal('g2'));
  const denial = key.propose('intake');
  key.input(event('key.released', { goalLog: 'g2' }));
  key.append(denial, 'intake');
  expect(decide(key)).toEqual(['freed g2']);
  expect(key.state('intake')).toEqual({ kind: 'key', holder: null, queue: [], released: [] });
  expect(debounceTimer).toBe('intake/debounce');
});

test('one that goes away as its wait ends gets no turn, though a newer one waits by then', () => {
  const key = newKey();
  key.input(event('key.requested', { goalLog: 'first', session: 'ses_first' }));
  decide(key);
  key.input(goal('g1'));
  decide(key);
  key.nowMs += 1_000;
  const overtaken = key.propose('intake');
  key.input(event('key.released', { goalLog: 'g1' }));
  key.input(goal('g2'));
  key.append(overtaken, 'intake');
  expect(decide(key)[0]).toBe('freed g1');
  key.nowMs += 1_000;
  expect(decide(key)).toEqual(['settled g2']);
  key.input(event('key.released', { goalLog: 'first' }));
  expect(decide(key)).toEqual(['freed first', 'assigned g2']);
});

// Simulation, seed 22 (long).
test('one that was superseded and goes away, but had its turn decided before, gives it back', () => {
  const key = newKey();
  key.input(goal('g1'));
  decide(key);
  key.nowMs += 1_000;
  const overtaken = key.propose('intake');
  key.input(goal('g2'));
  key.input(event('key.released', { goalLog: 'g1' }));
  key.append(overtaken, 'intake');
  expect(key.state('intake')).toMatchObject({ holder: 'g1', settling: { goalLog: 'g2' } });
  expect(decide(key)[0]).toBe('freed g1');
  key.nowMs += 1_000;
  expect(decide(key)).toEqual(['settled g2', 'assigned g2']);
});

test('in whole sessions: of five goals that come in short order only the last one runs', async () => {
  const world = await MemoryWorld.start();
  for (const said of ['a', 'b', 'c', 'd', 'e']) {
    const rest = { key: 'red', debounceMs: 500, inputs: { said } };
    world.publishGoal({ id: said, goal: 'Say.', plan: 'echo', ...rest });
    await world.clock.run(200);
  }
  expect(await world.runUntilDone()).toBe(true);
  const results = Object.fromEntries(world.results().map((one) => [one.goalId, one]));
  expect(results['e']).toMatchObject({ status: 'completed', output: 'e' });
  for (const older of ['a', 'b', 'c', 'd'])
    expect(results[older]).toMatchObject({ status: 'rejected', error: { code: 'SUPERSEDED' } });
});

test('a goal that asks for it and has no key is refused, and says why', async () => {
  const world = await MemoryWorld.start();
  world.publishGoal({ id: 'x', goal: 'Say.', plan: 'echo', debounceMs: 500, inputs: { said: 1 } });
  expect(await world.runUntilDone()).toBe(true);
  const [result] = world.results();
  expect(result).toMatchObject({ error: { code: 'GOAL_FIELD_INVALID', field: 'debounceMs' } });
});
