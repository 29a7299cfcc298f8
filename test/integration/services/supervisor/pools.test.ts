import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SeenEvent } from '../../../../schemas/event.ts';
import { poolsTopic } from '../../../../schemas/topics.ts';
import { poolLogId } from '../../../../services/chassis/protocol/ids.ts';
import { temporaryCatalog } from '../../../support/document-files.ts';
import { GoalDesk } from '../../../support/goal-desk.ts';
import { LiveHost } from '../../../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../../../support/live-stack.ts';
import { SessionLogs } from '../../../support/session-log.ts';

/** The limits of a pool on a real broker, over two hosts of which one is killed. */

const pool = `narrow-${process.pid}`;
const stack = stackUnderTest();
const directory = temporaryCatalog({
  'pools.yaml': `- { name: ${pool}, description: Has limits., concurrencyMax: 3, tenants: { bolt: 1 } }\n`,
  'plans/narrow.yaml': `
name: narrow
version: 1.0.0
description: One task in a pool with limits.
tasks: [{ id: one, pool: ${pool}, agent: counter, input: { counter: narrow, waitMs: 300 } }]
output: { kind: collect }
`,
});
const options = { stack, eventStore: false, catalog: [fixture('catalog'), directory.path] };
let hosts: LiveHost[];

beforeAll(async () => {
  hosts = [await new LiveHost(options).ready()];
  hosts.push(await new LiveHost(options).ready());
});
afterAll(async () => {
  await Promise.all(hosts.map((host) => host.remove()));
  directory.remove();
});

/** The most places that were given at the same time, by tenant and in all. */
function mostGiven(events: readonly SeenEvent[]) {
  const tenants = new Map<string, string>();
  const most = { all: 0, acme: 0, bolt: 0 };
  for (const event of events) {
    if (event.type !== 'slot.granted' && event.type !== 'slot.returned') continue;
    const { session } = event.data;
    if (event.type === 'slot.returned') tenants.delete(session);
    else tenants.set(session, event.data.tenant);
    const held = [...tenants.values()];
    most.all = Math.max(most.all, held.length);
    for (const name of ['acme', 'bolt'] as const)
      most[name] = Math.max(most[name], held.filter((one) => one === name).length);
  }
  return { most, left: tenants.size };
}

it('no more places are given than there are, also when a host is killed, and all come back', async () => {
  const desk = await GoalDesk.open(stack);
  const logs = await SessionLogs.open(stack, poolsTopic);
  const goals = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      desk.submit({ plan: 'narrow', tenant: index % 3 === 0 ? 'bolt' : 'acme' }),
    ),
  );
  await sleep(700);
  await hosts[0]?.kill();
  const results = await Promise.all(goals.map((goal) => desk.result(goal)));
  // A count that ran in the host that died is nobody's to repeat: its task fails, and gives its place back.
  const statuses = results.map(({ status }) => status);
  expect(statuses.filter((one) => one === 'completed').length).toBeGreaterThanOrEqual(9);
  const log = await logs.until(poolLogId(pool), ({ events }) => mostGiven(events).left === 0);
  const { most } = mostGiven(log.events);
  expect(most.bolt).toBe(1);
  expect(most.all).toBe(3);
  const given = log.events.filter(({ type }) => type === 'slot.granted');
  expect(given.length).toBeGreaterThanOrEqual(12);
  await Promise.all([desk.close(), logs.close()]);
});
