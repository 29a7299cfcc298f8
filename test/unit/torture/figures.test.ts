import { expect, it } from 'vitest';
import { serviceNames } from '../../../services/main.ts';
import { disturbances, minimumOf } from '../../torture/disturbance.ts';
import { shortfalls } from '../../torture/figures.ts';

const minutes = 3;
const enough = new Map(disturbances.map((kind) => [kind, minimumOf(kind, minutes)]));
const each = new Map(serviceNames.map((name) => [name, 1]));

it('a run that did all often enough, to every service, lacks nothing', () => {
  expect(shortfalls({ done: enough, killed: each, minutes })).toEqual([]);
});

it('a kind that was done too seldom is said with how often it had to be', () => {
  const done = new Map(enough).set('kill host', 2);
  const [found] = shortfalls({ done, killed: each, minutes });
  expect(found?.detail).toBe('kill host: 2 of 3');
});

it('a service of which no host was killed is said by name', () => {
  const killed = new Map(each);
  killed.delete('event-store');
  const found = shortfalls({ done: enough, killed, minutes });
  expect(found.map(({ detail }) => detail)).toEqual(['event-store: no host of it was killed']);
});
