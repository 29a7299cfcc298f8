import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { textOf } from '../../schemas/event.ts';
import { poolsTopic } from '../../schemas/topics.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../services/chassis/log/port.ts';
import { poolLogId, sessionId } from '../../services/chassis/protocol/ids.ts';
import { publishDecision } from '../../services/client/approval.ts';
import { filesOfDocument, temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, stackUnderTest } from '../support/live-stack.ts';
import { eventsOf, has, type SessionLog, SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';

/**
 * Agents heal themselves on a real broker, by the files of docs/agents.md. The tool is a real MCP server over a directory
 * whose files come and go: the same call fails and works, and nothing else is changed between the runs.
 */

const stack = stackUnderTest();
const directory = temporaryCatalog(filesOfDocument('docs/agents.md'));
const workspace = mkdtempSync(join(tmpdir(), 'longrein-stores-'));
let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;
let pools: SessionLogs;
let log: LogPort;

beforeAll(async () => {
  const catalog = [examples, directory.path];
  host = new LiveHost({
    stack,
    eventStore: false,
    catalog,
    env: { LONGREIN_WORKSPACE: workspace },
  });
  await host.ready(240_000);
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
  pools = await SessionLogs.open(stack, poolsTopic);
  log = createKafkaLog({ brokers: stack.brokers, clientId: 'healing-test' });
}, 300_000);
afterAll(async () => {
  await Promise.all([logs, pools, desk, log].map((one) => one?.close()));
  await host.remove();
  directory.remove();
  rmSync(workspace, { recursive: true, force: true });
});

const names = ['stock', 'backup', 'archive', 'shelf'] as const;
type Name = (typeof names)[number];
const fileOf = (name: Name): string => join(workspace, `${name}.json`);
const stored = (name: Name, stock: number): void =>
  writeFileSync(fileOf(name), JSON.stringify({ stock }));

beforeEach(() => {
  for (const name of names) rmSync(fileOf(name), { force: true });
});

/** A busy machine takes its time. */
const patienceMs = 90_000;

/** Submits the goal and waits until its log holds what is asked for. */
async function begin(holds: (log: SessionLog) => boolean, plan = 'count-stock') {
  const id = await desk.submit({ plan });
  const session = sessionId('default', '', id);
  return { id, session, log: await logs.until(session, holds, patienceMs) };
}

async function end({ id, session }: Readonly<{ id: string; session: string }>) {
  const result = await desk.result(id, patienceMs);
  const closed = await logs.closed(session, patienceMs);
  await expectVerified(stack, [session]);
  return { result, closed };
}

const stepsOf = (at: SessionLog) =>
  eventsOf(at, 'task.retry-scheduled').map(({ data }) => {
    const { step, model, agent } = data.recovery ?? { step: 'none' };
    return [step, model ?? agent].filter((one) => one !== undefined).join(' ');
  });

test('an agent begins again with the error in its context, and the tool works by then', async () => {
  const goal = await begin(has('task.retry-scheduled'));
  stored('stock', 12);
  const { result, closed } = await end(goal);
  expect(result).toMatchObject({ status: 'completed', output: { count: { stock: 12 } } });
  expect(stepsOf(closed)).toEqual(['restart']);
  expect(textOf(eventsOf(closed, 'task.retry-scheduled')[0]?.content?.reason)).toContain(
    'because attempt 1 by "stock-clerk" failed with OUTPUT_NOT_JSON',
  );
  const told = eventsOf(closed, 'model.requested').map(({ content }) => textOf(content.messages));
  expect(told.filter((one) => one.includes('attempt 1 by \\"stock-clerk\\"'))).toHaveLength(1);
  expect(eventsOf(closed, 'agent.created').at(-1)?.data.resumes).toBe('count.1');
});

test('another model takes over, and finds another way', async () => {
  stored('backup', 11);
  const { result, closed } = await end(await begin(has('model.requested')));
  expect(result).toMatchObject({ status: 'completed', output: { count: { stock: 11 } } });
  expect(stepsOf(closed)).toEqual(['restart', 'replace scripted/careful-clerk']);
});

test('another agent takes over where no model helps', async () => {
  stored('archive', 10);
  const { result, closed } = await end(await begin(has('model.requested')));
  expect(result).toMatchObject({ status: 'completed', output: { count: { stock: 10 } } });
  expect(stepsOf(closed)).toEqual([
    ...['restart', 'replace scripted/careful-clerk', 'replace archivist'],
  ]);
});

test('a person is asked at last, has it tried again, and it works by then', async () => {
  const goal = await begin(has('person.asked'));
  const [asked] = eventsOf(goal.log, 'person.asked');
  expect(asked?.data).toMatchObject({ about: 'failure', to: 'head of stores' });
  expect(textOf(asked?.content.question)).toContain('attempt 4 by "archivist"');
  stored('stock', 9);
  const approval = asked?.data.question ?? '';
  const decision = {
    session: goal.session,
    approval,
    decision: 'granted',
    decidedBy: 'ann',
  } as const;
  await publishDecision(log, decision);
  const { result, closed } = await end(goal);
  expect(result).toMatchObject({ status: 'completed', output: { count: { stock: 9 } } });
  expect(stepsOf(closed).at(-1)).toBe('escalate');
  expect(eventsOf(closed, 'person.settled')[0]?.data).toMatchObject({ answeredBy: 'ann' });
});

test('a person answers in the place of everybody', async () => {
  const goal = await begin(has('person.asked'));
  const approval = eventsOf(goal.log, 'person.asked')[0]?.data.question ?? '';
  const answer = { decision: 'answered', answer: { stock: 8 }, decidedBy: 'bob' } as const;
  await publishDecision(log, { session: goal.session, approval, ...answer });
  const { result } = await end(goal);
  expect(result).toMatchObject({ status: 'completed', output: { count: { stock: 8 } } });
});

/** A goal of the shelf, once its log is closed. */
const shelf = async () => end(await begin(has('session.opened'), 'count-shelf'));
const workersOf = (at: SessionLog) => eventsOf(at, 'agent.created').map(({ data }) => data.name);

test('a template that keeps failing is taken out, and comes back by a probe once the tool works', async () => {
  stored('archive', 10);
  for (const _ of [1, 2]) {
    const { result, closed } = await shelf();
    expect(result.output).toEqual({ count: { stock: 10 } });
    expect(workersOf(closed)).toEqual(['shelf-reader', 'archivist']);
  }
  const pool = poolLogId('files');
  const out = await pools.until(pool, has('template.suspended'), patienceMs);
  const [suspended] = eventsOf(out, 'template.suspended');
  expect(suspended?.data).toMatchObject({ agent: 'shelf-reader', failures: 2, suspensions: 1 });
  const third = await shelf();
  expect(third.result.output).toEqual({ count: { stock: 10 } });
  expect(workersOf(third.closed)).toEqual(['archivist']);
  expect(textOf(eventsOf(third.closed, 'task.diverted')[0]?.content.reason)).toContain(
    'after 2 failures in a row',
  );
  stored('shelf', 3);
  await sleep(Math.max(0, (suspended?.data.untilMs ?? 0) + 1_000 - Date.now()));
  for (const _ of ['probe', 'as before']) {
    const { result, closed } = await shelf();
    expect(result.output).toEqual({ count: { stock: 3 } });
    expect(workersOf(closed)).toEqual(['shelf-reader']);
  }
  const back = await pools.until(pool, has('template.resumed'), patienceMs);
  const places = eventsOf(back, 'slot.granted').flatMap(({ data }) => data.tasks);
  expect(places.filter(({ probe }) => probe !== undefined)).toHaveLength(1);
});
