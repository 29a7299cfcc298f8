import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SeenEvent } from '../../schemas/event.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, fixture, stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';

/** One goal of a thousand tasks on two hosts, of which one dies in the middle. */

const stack = stackUnderTest();
const files = {
  'plans/thousand.yaml': `
name: thousand
version: 1.0.0
description: Echoes each of its items.
inputs:
  items: { type: array }
tasks:
  - id: each
    pool: test
    agent: echoer
    input: =item
    fanOut: { over: =inputs.items, itemsMax: 1000, parallelMax: 256 }
output: { kind: collect, shape: =tasks.each }
`,
};
const directory = temporaryCatalog(files);
const catalog = [examples, fixture('catalog'), directory.path];
const hosts: LiveHost[] = [];
let desk: GoalDesk;
let logs: SessionLogs;

beforeAll(async () => {
  for (let count = 0; count < 2; count += 1)
    hosts.push(new LiveHost({ stack, eventStore: false, catalog }));
  await Promise.all(hosts.map((host) => host.ready()));
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
});
afterAll(async () => {
  await Promise.all([logs.close(), desk.close()]);
  await Promise.all(hosts.map((host) => host.remove()));
  directory.remove();
});

const ended = (events: readonly SeenEvent[]): number =>
  events.filter(({ type }) => type === 'child.ended').length;

/** Processes that scheduled tasks in the session. */
const schedulers = (events: readonly SeenEvent[]): readonly string[] =>
  events.flatMap(({ type, incarnation }) => (type === 'task.scheduled' ? [incarnation] : []));

test('a thousand tasks run on two hosts, and one that is killed takes none of their results with it', async () => {
  const items = Array.from({ length: 1_000 }, (_, index) => index);
  const startMs = performance.now();
  const id = await desk.submit({ plan: 'thousand', inputs: { items } });
  const session = sessionId('default', '', id);
  await logs.until(session, ({ events }) => ended(events) >= 4, 60_000);
  await hosts[0]?.kill();
  const result = await desk.result(id, 90_000);
  process.stdout.write(`1,000 tasks took ${Math.round(performance.now() - startMs)} ms\n`);
  expect(result).toMatchObject({ status: 'completed', output: items });

  const { events } = await logs.closed(session);
  expect(ended(events)).toBe(32);
  const opened = events.filter(
    (one): one is SeenEvent<'child.opened'> => one.type === 'child.opened',
  );
  const children = opened.map(({ data }) => data.child);
  const all = await Promise.all(children.map((child) => logs.closed(child)));
  // One of each branch, and one of the fan-out itself.
  const completed = all.flatMap((log) =>
    log.events.filter(({ type }) => type === 'task.completed'),
  );
  expect(completed).toHaveLength(1_000 + children.length);
  expect(new Set(all.flatMap((log) => schedulers(log.events))).size).toBeGreaterThan(1);
  await expectVerified(stack, [session, ...children.slice(0, 3)]);
});
