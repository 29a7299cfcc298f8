import { expect, test } from 'vitest';
import { ownerStates } from './checkers/owner-states.ts';
import { History } from './world/history.ts';
import type { Run } from './world/run-outcome.ts';

/** A session that opens at offset 3 and closes at offset 9. */
const lines = [
  { offset: 3, step: { core: { status: 'open' } } },
  { offset: 9, step: { core: { status: 'closed' } } },
];
const place = { topic: 'longrein.sessions.normal', partition: 1 };
const sessions = new Map([['ses_a', { session: 'ses_a', ...place, lines }]]);
const history = Object.assign(Object.create(History.prototype) as History, { sessions });

/** What is found of a host that read so far and holds nothing. */
function foundAt(position: number, partition = place.partition): readonly string[] {
  const seen = { host: 'h1', ...place, partition, position, services: ['planner'], seats: [] };
  return ownerStates({ history, seen: [seen] } as unknown as Run).map(({ detail }) => detail);
}

test('a host holds the sessions that are open where it has read to, and no others', () => {
  expect(foundAt(3)).toEqual([]);
  const missed = 'h1 at longrein.sessions.normal/1@4: planner does not know the open session ses_a';
  expect(foundAt(4)).toEqual([missed]);
  expect(foundAt(9)).toHaveLength(1);
  expect(foundAt(10)).toEqual([]);
  expect(foundAt(4, 0)).toEqual([]);
});
