import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { cliIn } from '../support/cli-process.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';

/** DESIGN 3.14 with real processes: an event that kills whoever decides it, and what a person does about it then. */

const stack = stackUnderTest();
const directory = mkdtempSync(join(tmpdir(), 'longrein-poison-'));
const goalId = `poison-${process.pid}-${Date.now()}`;
const session = sessionId('default', '', goalId);
const hosts: LiveHost[] = [];
let desk: GoalDesk;
let sessions: SessionLogs;

const cli = cliIn(directory, {
  LONGREIN_BROKERS: stack.brokers.join(','),
  LONGREIN_REGISTRY_URL: stack.registryUrl,
  LONGREIN_BLOB_DIR: stack.blobDir,
});

type Document = Readonly<Record<string, unknown>>;

async function json(...argv: string[]): Promise<{ code: number | null; document: Document }> {
  const { code, stdout, stderr } = await cli(...argv, '--json');
  if (stdout === '') throw new Error(stderr);
  return { code, document: JSON.parse(stdout) as Document };
}

function newHost(): LiveHost {
  const env = {
    LONGREIN_COUNTER_DIR: directory,
    LONGREIN_TEST_DIES_OF: `planner ${session}`,
    LONGREIN_SESSION_TIMEOUT_MS: '6000',
  };
  const host = new LiveHost({ stack, env, entry: 'mortal-host', eventStore: false });
  hosts.push(host);
  return host;
}

const died = (): number => hosts.filter(({ running }) => !running).length;

/** Whoever looks after processes starts a new one for each that ended. */
async function watchedUntil(done: () => boolean, withinMs: number): Promise<void> {
  for (const endMs = Date.now() + withinMs; !done() && Date.now() < endMs; await sleep(100))
    while (hosts.length - died() < 2) newHost();
}

beforeAll(async () => {
  await newHost().ready();
  await newHost().ready();
  desk = await GoalDesk.open(stack);
  sessions = await SessionLogs.open(stack);
});
afterAll(async () => {
  await Promise.all([desk.close(), sessions.close()]);
  await Promise.all(hosts.map((host) => host.remove()));
  rmSync(directory, { recursive: true });
});

it('a goal that kills its hosts fails after a few of them; the others complete, and nothing is doubled', async () => {
  const counted = (counter: string) => ({ plan: 'count', inputs: { counter, waitMs: 500 } });
  await desk.send({ id: goalId, goal: 'of a test', ...counted('poison') });
  const innocent: string[] = [];
  // Of tools that may be called again: one that may not would rightly fail where its host dies in the middle of it.
  const echoed = (said: string) => ({ plan: 'echo', inputs: { said } });
  for (let n = 0; n < 6; n++) innocent.push(await desk.submit(echoed(`innocent-${n}`)));
  let result: Awaited<ReturnType<GoalDesk['result']>> | undefined;
  const waiting = desk.result(goalId, 150_000).then((one) => {
    result = one;
  });
  await watchedUntil(() => result !== undefined, 150_000);
  await waiting;
  expect(result).toMatchObject({ status: 'failed', error: { code: 'DECISION_FAILED' } });
  expect(result?.error?.message).toContain('2 hosts died deciding');
  // One that nobody had named, two that named it alone; on a slow machine also one that named it among others.
  const deaths = died();
  expect(deaths).toBeGreaterThanOrEqual(3);
  expect(deaths).toBeLessThanOrEqual(5);
  for (const one of innocent) expect((await desk.result(one)).status).toBe('completed');
  await sessions.closed(session);
  await expectVerified(stack, [session]);
  expect(died()).toBe(deaths);
}, 200_000);

it('its dead letter is listed, shown, counted, and retried as a goal of its own, once', async () => {
  const { document } = await json('dead-letters', 'list');
  const letters = document['letters'] as { id: string; session?: string }[];
  const letter = letters.find((one) => one.session === session);
  expect(letter).toMatchObject({ state: 'open', service: 'planner', reason: { code: 'POISON' } });
  const id = letter?.id ?? '';
  expect(JSON.stringify((await json('status')).document['troubles'])).toContain('DEAD_LETTERS');
  const shown = await cli('dead-letters', 'show', id);
  expect(shown.stdout).toContain(`publishes the goal again as ${goalId}-retry-`);
  expect((await json('dead-letters', 'retry', id)).document).toMatchObject({
    error: { code: 'USAGE' },
  });
  const why = ['--reason', 'the bug is mended', '--as', 'ada'];
  const retried = await json('dead-letters', 'retry', id, ...why);
  expect(retried).toMatchObject({ code: 0, document: { act: 'retried', by: 'ada' } });
  const again = String(retried.document['goalId']);
  expect((await desk.result(again)).status).toBe('completed');
  const twice = await json('dead-letters', 'retry', id, ...why);
  expect(twice).toMatchObject({ code: 1, document: { error: { code: 'LETTER_SETTLED' } } });
});

it('a record that nobody can read leaves a letter, and its partition goes on', async () => {
  const before = await desk.submit({ plan: 'echo', inputs: { said: 'one' } });
  await desk.result(before);
  await desk.spoil('longrein.sessions.normal', session);
  const after = await desk.submit({ plan: 'echo', inputs: { said: 'two' } });
  expect((await desk.result(after)).status).toBe('completed');
  // Other tests of the stack leave letters of goals that nobody could read.
  type Letter = { id: string; reason: { code: string }; origin: { topic: string } };
  const found = async (): Promise<Letter | undefined> => {
    const { document } = await json('dead-letters', 'list');
    const letters = document['letters'] as Letter[];
    return letters.find(
      ({ reason, origin }) =>
        reason.code !== 'POISON' && origin.topic === 'longrein.sessions.normal',
    );
  };
  let letter = await found();
  for (let tries = 0; letter === undefined && tries < 20; tries++) letter = await found();
  const { id = '' } = letter ?? {};
  const refused = await json('dead-letters', 'retry', id, '--reason', 'try it');
  expect(refused).toMatchObject({ code: 1, document: { error: { code: 'RETRY_REFUSED' } } });
  const discarded = await json('dead-letters', 'discard', id, '--reason', 'seen');
  expect(discarded).toMatchObject({ code: 0, document: { act: 'discarded' } });
  expect(await found()).toBeUndefined();
});
