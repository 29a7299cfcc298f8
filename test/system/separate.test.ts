import { afterAll, beforeAll, expect, it } from 'vitest';
import { sessionTopic } from '../../schemas/topics.ts';
import { serviceNames } from '../../services/main.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';
import { expectStored, expectVerified } from '../support/session-proof.ts';

const stack = stackUnderTest();
const hosts: LiveHost[] = [];
let desk: GoalDesk;
let sessions: SessionLogs;

const goal = { plan: 'lockfile-audit', inputs: { path: 'package-lock.json' } };

async function start(names: readonly string[]): Promise<void> {
  const host = new LiveHost({ stack, services: names });
  hosts.push(host);
  await host.ready();
}

beforeAll(async () => {
  await start(['all']);
  desk = await GoalDesk.open(stack);
  sessions = await SessionLogs.open(stack);
});
afterAll(async () => {
  await Promise.all([desk.close(), sessions.close()]);
  await Promise.all(hosts.map((host) => host.remove()));
});

it('a process for each service gives the report that one process for all gives', async () => {
  const together = await desk.result(await desk.submit(goal));
  expect(together.status).toBe('completed');
  await hosts[0]?.stop();
  await Promise.all(serviceNames.map((name) => start([name])));
  const apart = await desk.result(await desk.submit(goal));
  expect(apart.status).toBe('completed');
  expect(apart.output).toEqual(together.output);
  await sessions.closed(apart.session);
  await expectVerified(stack, [together.session, apart.session]);
  await expectStored(stack, sessionTopic('normal'));
  const { events } = await sessions.closed(apart.session);
  // Pools are services of their own that share a process here.
  const processOf = new Map(
    events
      .filter(({ service }) => service !== 'input')
      .map(({ service, incarnation }) => [service.replace(/:.*/, ''), incarnation]),
  );
  expect(processOf.size).toBe(8);
  expect(new Set(processOf.values()).size).toBe(processOf.size);
});

it('a service of its own that dies and comes back holds up a goal, and no more', async () => {
  const host = hosts.find((one) => one.services.includes('supervisor'));
  await host?.kill();
  const id = await desk.submit(goal);
  await start(['supervisor']);
  expect(await desk.result(id)).toMatchObject({ status: 'completed' });
});
