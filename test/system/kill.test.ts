import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keysTopic, sessionTopic } from '../../schemas/topics.ts';
import { goalLogId, sessionId } from '../../services/chassis/protocol/ids.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { stackUnderTest } from '../support/live-stack.ts';
import { type SessionLog, SessionLogs } from '../support/session-log.ts';
import { expectStored, expectVerified } from '../support/session-proof.ts';

const stack = stackUnderTest();
const counterDir = mkdtempSync(join(tmpdir(), 'longrein-counters-'));
const hosts: LiveHost[] = [];
let desk: GoalDesk;
let sessions: SessionLogs;
let goalLogs: SessionLogs;

function newHost(): LiveHost {
  const host = new LiveHost({ stack, env: { LONGREIN_COUNTER_DIR: counterDir } });
  hosts.push(host);
  return host;
}

/** The host that runs now. */
const current = (): LiveHost => hosts.at(-1) as LiveHost;

beforeAll(async () => {
  await newHost().ready();
  desk = await GoalDesk.open(stack);
  sessions = await SessionLogs.open(stack);
  goalLogs = await SessionLogs.open(stack, keysTopic);
});
afterAll(async () => {
  await Promise.all([desk.close(), sessions.close(), goalLogs.close()]);
  await Promise.all(hosts.map((host) => host.remove()));
  rmSync(counterDir, { recursive: true });
});

const sessionOf = (goalId: string): string => sessionId('default', '', goalId);

const claims = (log: SessionLog): number =>
  log.events.filter(({ type }) => type.endsWith('.claimed')).length;

/** Waits until the session has so many claims, then ends the host without a word. */
async function killAfterClaims(session: string, count: number): Promise<void> {
  await sessions.until(session, (log) => claims(log) >= count);
  await current().kill();
}

/** Both logs of a goal are closed, and its result came once or as repeats that are the same bytes. */
async function settled(goalId: string): Promise<void> {
  const session = sessionOf(goalId);
  await sessions.closed(session);
  await goalLogs.closed(goalLogId(session));
  const [first, ...repeats] = desk.resultRecords(goalId);
  for (const repeat of repeats) {
    expect(repeat.headers['ce_id']).toBe(first?.headers['ce_id']);
    expect(Buffer.from(repeat.value ?? []).equals(Buffer.from(first?.value ?? []))).toBe(true);
  }
}

function countedCalls(counter: string): string[] {
  const file = join(counterDir, `${counter}.log`);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

describe('a host that is killed', () => {
  it('in the middle of the audit, twice, leaves the same report as one that is not', async () => {
    const undisturbed = await desk.result(await desk.submit({ plan: 'lockfile-audit' }));
    expect(undisturbed.status).toBe('completed');
    const id = await desk.submit({ plan: 'lockfile-audit' });
    await killAfterClaims(sessionOf(id), 1);
    newHost();
    await killAfterClaims(sessionOf(id), 4);
    newHost();
    const result = await desk.result(id);
    expect(result).toMatchObject({ status: 'completed', output: undisturbed.output });
    await settled(id);
    await expectVerified(stack, [result.session, undisturbed.session, goalLogId(result.session)]);
    await expectStored(stack, sessionTopic('normal'));
  });

  it('between claim and outcome never makes an effect happen twice', async () => {
    await current().ready();
    const counters = Array.from({ length: 6 }, () => `c-${randomUUID()}`);
    const ids: string[] = [];
    for (const counter of counters)
      ids.push(await desk.submit({ plan: 'count', inputs: { counter, waitMs: 100 } }));
    await current().until(
      () => counters.some((counter) => countedCalls(counter).length > 0),
      20_000,
      'count',
    );
    await current().kill();
    newHost();
    for (const [index, id] of ids.entries()) {
      const result = await desk.result(id);
      const calls = countedCalls(counters[index] ?? '');
      expect(new Set(calls).size).toBe(calls.length);
      if (result.status === 'completed') expect(calls).toHaveLength(3);
      else expect(result.error?.code).toBe('OUTCOME_UNKNOWN');
      await settled(id);
    }
  });
});

describe('a host that is told to stop', () => {
  it('ends within ten seconds, and the next one goes on where it was', async () => {
    await current().ready();
    const inputs = { counter: `c-${randomUUID()}`, waitMs: 4_500 };
    const waiting = await desk.submit({ plan: 'count', inputs });
    const audit = await desk.submit({ plan: 'lockfile-audit' });
    await sessions.until(sessionOf(waiting), (log) => claims(log) >= 1);
    await sessions.until(sessionOf(audit), (log) => claims(log) >= 2);
    const { code, stopMs } = await current().stop();
    expect(code).toBe(0);
    expect(stopMs).toBeLessThan(10_000);
    newHost();
    expect(await desk.result(audit)).toMatchObject({ status: 'completed' });
    expect(await desk.result(waiting)).toMatchObject({ status: 'completed' });
    expect(countedCalls(inputs.counter)).toHaveLength(3);
    await settled(audit);
    await settled(waiting);
  });

  it('hands its work to one that runs beside it', async () => {
    const leaving = await current().ready();
    const staying = newHost();
    await staying.ready();
    // The group gives half of the partitions to the new host only after it joined.
    await sleep(500);
    const ids: string[] = [];
    for (let count = 0; count < 8; count += 1) {
      const inputs = { counter: `c-${randomUUID()}`, waitMs: 300 };
      ids.push(await desk.submit({ plan: 'count', inputs }));
    }
    await sleep(200);
    const { code } = await leaving.stop();
    expect(code).toBe(0);
    for (const id of ids) {
      expect(await desk.result(id)).toMatchObject({ status: 'completed' });
      await settled(id);
    }
  });
});
