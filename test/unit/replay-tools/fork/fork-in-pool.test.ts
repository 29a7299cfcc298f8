import { describe, expect, test } from 'vitest';
import type { History } from '../../../../replay-tools/read/history.ts';
import { mostAtOnce } from '../../../support/at-once.ts';
import { eventIn, ForkDesk } from '../../../support/live-forks.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith } from '../../../support/world-proof.ts';

/** Live forks of sessions that wait for a place of a pool, or have one: the place is not theirs. */

const files = {
  'pools.yaml': '- { name: narrow, description: One at a time., concurrencyMax: 1 }\n',
  'plans/narrow.yaml': `
name: narrow
version: 1.0.0
description: A task in a pool with one place.
tasks:
  - { id: one, pool: narrow, agent: counter, input: { counter: narrow, waitMs: 10000 } }
output: { kind: collect }
`,
};

let world: MemoryWorld;
let desk: ForkDesk;

async function begin(): Promise<void> {
  world = await MemoryWorld.start({ seed: 9, catalog: catalogWith(files) });
  desk = new ForkDesk(world);
}

const publish = (id: string) => world.publishGoal({ id, goal: 'Go.', plan: 'narrow' });

/** Where the session stands now: the first event of its last record. */
function lastPoint(history: History) {
  const last = history.entries.at(-1);
  const [first] = last === undefined ? [] : history.ofRecord(last.event.record);
  if (first === undefined) throw new Error('nothing happened yet');
  return first;
}

describe('a fork of a session that waits for a place', () => {
  test('asks for one of its own, gets it in its turn, and no more run than may', async () => {
    await begin();
    const goals = [publish('first')];
    await world.clock.run(1_000);
    goals.push(publish('second'));
    await world.clock.run(2_000);
    const waiting = await desk.historyOf(goals[1]?.session ?? '');
    expect(waiting.ofType('task.scheduled')).toEqual([]);
    eventIn(waiting, 'permit.requested');
    const session = await desk.fork(waiting, lastPoint(waiting));
    goals.push({ goalId: 'fork', goalLog: '', session });
    const forked = await desk.ended(session);
    for (const one of goals) {
      const { entries } = await desk.ended(one.session);
      expect(entries.map(({ event }) => event.type)).toContain('session.completed');
    }
    expect(forked.entries.map(({ event }) => event.type)).toEqual(
      expect.arrayContaining(['permit.requested', 'permit.granted', 'permit.returned']),
    );
    expect(await mostAtOnce(world, goals)).toMatchObject({ all: 1 });
    expect(await desk.verified(session)).toMatchObject({ identical: true, complete: true });
  });
});

describe('a fork of a session that has a place', () => {
  test('gives back none that it never had, and both end', async () => {
    await begin();
    const { session: original } = publish('third');
    await world.clock.run(3_000);
    const running = await desk.historyOf(original);
    eventIn(running, 'permit.granted');
    const session = await desk.fork(running, lastPoint(running));
    for (const one of [session, original]) {
      const { entries } = await desk.ended(one);
      expect(entries.map(({ event }) => event.type)).toContain('session.completed');
    }
    const forked = await desk.historyOf(session);
    expect(forked.entries.map(({ event }) => event.type)).not.toContain('permit.returned');
    expect(await desk.verified(session)).toMatchObject({ identical: true, complete: true });
    const next = await desk.ended(publish('fourth').session);
    expect(next.entries.map(({ event }) => event.type)).toContain('session.completed');
  });
});
