import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assignPartitions,
  type GroupCandidate,
} from '../../../../../services/chassis/log/assignment.ts';
import type { PartitionName } from '../../../../../services/chassis/log/port.ts';

type Owned = ReadonlyMap<string, readonly PartitionName[]>;

const counts = new Map([
  ['bulk', 5],
  ['high', 12],
  ['normal', 12],
]);

function members(
  ids: readonly string[],
  owned: Owned = new Map(),
  generation = 1,
): GroupCandidate[] {
  const topics = [...counts.keys()];
  return ids.map((id) => ({ id, topics, generation, owned: owned.get(id) ?? [] }));
}

function names(assigned: Owned): string[] {
  return [...assigned.values()].flat().map(({ topic, partition }) => `${topic}/${partition}`);
}

const idSet = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { minLength: 1 });

describe('assignPartitions', () => {
  test('gives every partition to exactly one member, evenly in each topic', () => {
    fc.assert(
      fc.property(idSet, idSet, (before, after) => {
        const assigned = assignPartitions(
          members(after, assignPartitions(members(before), counts)),
          counts,
        );
        expect(new Set(names(assigned)).size).toBe(29);
        expect(names(assigned)).toHaveLength(29);
        for (const [topic, count] of counts) {
          for (const held of assigned.values()) {
            const own = held.filter((name) => name.topic === topic).length;
            expect(own).toBeGreaterThanOrEqual(Math.floor(count / after.length));
            expect(own).toBeLessThanOrEqual(Math.ceil(count / after.length));
          }
        }
      }),
    );
  });

  test('moves nothing when nothing has changed, whatever the order of the members', () => {
    fc.assert(
      fc.property(idSet, (ids) => {
        const first = assignPartitions(members(ids), counts);
        const again = assignPartitions(members([...ids].reverse(), first), counts);
        for (const id of ids) expect(again.get(id)).toEqual(first.get(id));
      }),
    );
  });

  test('takes from a member only what it must give to a new one', () => {
    const one = assignPartitions(members(['a', 'b']), counts);
    const two = assignPartitions(members(['a', 'b', 'c'], one), counts);
    for (const id of ['a', 'b']) {
      const before = names(new Map([[id, one.get(id) ?? []]]));
      const after = names(new Map([[id, two.get(id) ?? []]]));
      expect(after.every((name) => before.includes(name))).toBe(true);
    }
  });

  test('believes the later generation when two members claim the same', () => {
    const claim = [{ topic: 'high', partition: 3 }];
    const candidates: GroupCandidate[] = [
      { id: 'a', topics: ['high'], owned: claim, generation: 4 },
      { id: 'b', topics: ['high'], owned: claim, generation: 5 },
    ];
    const assigned = assignPartitions(candidates, new Map([['high', 4]]));
    expect(assigned.get('b')).toContainEqual(claim[0]);
  });

  test('gives a topic only to those that want it, and no partition that is gone', () => {
    const candidates: GroupCandidate[] = [
      { id: 'a', topics: ['high'], owned: [{ topic: 'high', partition: 9 }], generation: 1 },
      { id: 'b', topics: ['other'], owned: [], generation: 1 },
    ];
    const assigned = assignPartitions(candidates, new Map([['high', 2]]));
    expect(names(assigned)).toEqual(['high/0', 'high/1']);
    expect(assigned.get('b')).toEqual([]);
  });
});
