import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../services/chassis/log/port.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { type ApprovalDecision, publishDecision } from '../../services/client/approval.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../support/live-stack.ts';
import { ProviderStub, type WireMessage } from '../support/provider-stub.ts';
import { type SessionLog, SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';
import { eventsOf } from '../support/work-fixtures.ts';

/**
 * Agents that wait for people while their hosts are killed, on a real broker (s07, s09): what they did before is not made again,
 * nobody is asked twice, and they stay the agents that they were, whatever their files say by then.
 */

const stack = stackUnderTest();
const work = mkdtempSync(join(tmpdir(), 'longrein-paused-'));
const failuresMax = 2;

/** The answers to what was asked for so far. */
const told = (said: readonly WireMessage[]): readonly string[] =>
  said.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content));

/** Counts once, fails twice when it is told the count, and then asks until it may go on. */
function careful(said: readonly WireMessage[]) {
  const known = told(said);
  if (known.length === 0) return { tool: 'test_count', arguments: { counter: 'careful' } };
  if (stub.of('careful').length <= 1 + failuresMax) return { status: 500 };
  if (known.at(-1)?.includes('granted') === true) return { words: ['Released.'] };
  const question = `May I release? (${known.length})`;
  return { tool: 'ask_person', arguments: { question } };
}

const stub: ProviderStub = new ProviderStub({ careful });

/** A procedure that asks, and then says how it is written. */
const keeper = (says: string): string => `
kind: procedure
name: keeper
version: 1.0.0
description: Asks, and says what it is.
role: tester
tools: [ask_person, test.echo]
steps:
  - { id: ask, tool: ask_person, arguments: { question: Go on? } }
  - { id: say, tool: test.echo, arguments: { said: ${says} } }
output: =steps.say.said
person: { to: on-call }
`;

const filesOf = (url: string): Record<string, string> => ({
  'providers.yaml': `providers: { stub: { baseUrl: ${url} } }\n`,
  'agents/keeper.yaml': keeper('first'),
  'agents/careful.yaml': `
kind: model
name: careful
version: 1.0.0
description: Counts, then asks until it may go on.
role: tester
tools: [test.count, ask_person]
model: stub/careful
modelAttemptsMax: ${failuresMax + 1}
prompt: Count, then ask.
person: { to: on-call }
`,
  ...Object.fromEntries(
    ['keeper', 'careful'].map((name) => [
      `plans/${name}.yaml`,
      `
name: ${name}
version: 1.0.0
description: One task, of an agent that asks.
tasks: [{ id: one, pool: test, agent: ${name}, attemptsMax: 1, timeoutMs: 240000 }]
`,
    ]),
  ),
});

let catalog: ReturnType<typeof temporaryCatalog>;
let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;
let log: LogPort;

/** The one host there is; on this machine it may take its time. */
function anotherHost(): Promise<LiveHost> {
  const env = {
    LONGREIN_COUNTER_DIR: work,
    LONGREIN_PROVIDERS_FILE: join(catalog.path, 'providers.yaml'),
  };
  const options = { stack, eventStore: false, catalog: [fixture('catalog'), catalog.path], env };
  return new LiveHost(options).ready(120_000);
}

async function replaceHost(): Promise<void> {
  await host.kill();
  await host.remove();
  host = await anotherHost();
}

beforeAll(async () => {
  catalog = temporaryCatalog(filesOf(await stub.start()));
  host = await anotherHost();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
  log = createKafkaLog({ brokers: stack.brokers, clientId: 'paused-test' });
});
afterAll(async () => {
  await Promise.all([logs.close(), desk.close(), log.close()]);
  await host.remove();
  await stub.stop();
  catalog.remove();
  rmSync(work, { recursive: true });
});

async function submit(plan: string) {
  const id = await desk.submit({ plan });
  return { id, session: sessionId('default', '', id) };
}

type Goal = Awaited<ReturnType<typeof submit>>;

const askedIn = (at: SessionLog) => eventsOf(at.events, 'person.asked');

/** Waits for so many questions of the session; answers the newest. */
async function question({ session }: Goal, count = 1): Promise<string> {
  const at = await logs.until(session, (one) => askedIn(one).length >= count, 120_000);
  expect(askedIn(at)).toHaveLength(count);
  return askedIn(at).at(-1)?.data.question ?? '';
}

const answer = (
  { session }: Goal,
  approval: string,
  said: Pick<ApprovalDecision, 'decision' | 'decidedBy' | 'answer'>,
): Promise<unknown> => publishDecision(log, { session, approval, ...said });

async function ended({ id, session }: Goal) {
  const result = await desk.result(id, 120_000);
  const { events } = await logs.closed(session, 60_000);
  await expectVerified(stack, [session]);
  return { result, events };
}

const counted = (): number => {
  const file = join(work, 'careful.log');
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').length : 0;
};

const digests = (events: Awaited<ReturnType<typeof ended>>['events']) =>
  eventsOf(events, 'agent.created').map(({ data }) => data.digest);

test('the effect before the gate happens once, and each question is asked once, though hosts die between the rounds', async () => {
  const goal = await submit('careful');
  const kept = await submit('keeper');
  const pausedOn = await question(kept);
  const rounds = ['denied', 'denied', 'granted'] as const;
  for (const [round, decision] of rounds.entries()) {
    const approval = await question(goal, round + 1);
    if (round === 0) writeFileSync(join(catalog.path, 'agents/keeper.yaml'), keeper('second'));
    if (round < 2) await replaceHost();
    await answer(goal, approval, { decision, decidedBy: `person-${round}` });
  }
  const { result, events } = await ended(goal);
  expect(result).toMatchObject({ status: 'completed', output: { one: 'Released.' } });
  expect(counted()).toBe(1);
  // A count, two failures, three questions and the last word.
  expect(stub.of('careful')).toHaveLength(1 + failuresMax + 3 + 1);
  expect(eventsOf(events, 'model.failed')).toHaveLength(failuresMax);
  expect(eventsOf(events, 'tool.requested')).toHaveLength(1);
  const settled = eventsOf(events, 'person.settled').map(({ data }) => data);
  expect(settled.map(({ decision, answeredBy }) => [decision, answeredBy])).toEqual(
    rounds.map((decision, round) => [decision, `person-${round}`]),
  );
  expect(eventsOf(events, 'agent.created')).toHaveLength(1);

  // The other one has been paused all the time; its file says something else by now.
  await answer(kept, pausedOn, { decision: 'granted', decidedBy: 'ann' });
  const old = await ended(kept);
  expect(old.result).toMatchObject({ status: 'completed', output: { one: 'first' } });
  const anew = await submit('keeper');
  await answer(anew, await question(anew), { decision: 'granted', decidedBy: 'ann' });
  const now = await ended(anew);
  expect(now.result).toMatchObject({ status: 'completed', output: { one: 'second' } });
  expect(digests(old.events)).toHaveLength(1);
  expect(digests(now.events)).not.toEqual(digests(old.events));
});
