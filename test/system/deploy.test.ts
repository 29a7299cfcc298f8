import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keysTopic } from '../../schemas/topics.ts';
import { goalLogId, sessionId } from '../../services/chassis/protocol/ids.ts';
import { serviceNames } from '../../services/main.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { nextReleaseName } from '../support/next-release.ts';
import { OwnBacking } from '../support/own-backing.ts';
import { SessionLogs } from '../support/session-log.ts';
import { type Proved, provedByBoth, type ReadSession } from '../support/upgrade-proof.ts';

/**
 * Deploys under load: processes that stop in good order, one release after another, on a broker of their own. The event
 * store makes no steps and is not among them.
 */

const counterDir = mkdtempSync(join(tmpdir(), 'longrein-counters-'));
const hosts: LiveHost[] = [];
let backing: OwnBacking;
let desk: GoalDesk;
let sessions: SessionLogs;
let goalLogs: SessionLogs;

type Start = Readonly<{ services?: readonly string[]; next?: boolean }>;

const names = serviceNames.filter((name) => name !== 'event-store');
const env = {
  LONGREIN_COUNTER_DIR: counterDir,
  LONGREIN_PARTITIONS: '4',
  // A machine that is busy with other things must not lose its members.
  LONGREIN_SESSION_TIMEOUT_MS: '30000',
};

async function start({ services = names, next = false }: Start = {}): Promise<LiveHost> {
  const host = new LiveHost({ stack: backing.stack, env, services, next });
  hosts.push(host);
  return host.ready();
}

/** A deploy of one host: the new one first, then the old one stops within its time. */
async function replace(old: LiveHost, options: Start): Promise<LiveHost> {
  const fresh = await start(options);
  await stop(old);
  return fresh;
}

async function stop(host: LiveHost): Promise<void> {
  const { code, stopMs } = await host.stop();
  expect(code, host.tail()).toBe(0);
  expect(stopMs).toBeLessThan(10_000);
}

beforeAll(async () => {
  backing = await OwnBacking.prepare();
  await backing.startBroker();
  await backing.startRegistry();
  const first = await start();
  desk = await GoalDesk.open(backing.stack);
  sessions = await SessionLogs.open(backing.stack);
  goalLogs = await SessionLogs.open(backing.stack, keysTopic);
  await stop(first);
}, 180_000);
afterEach(async () => {
  endLoad();
  await Promise.all(hosts.splice(0).map((host) => host.remove()));
});
afterAll(async () => {
  await Promise.all([desk.close(), sessions.close(), goalLogs.close()]);
  await backing.remove();
  rmSync(counterDir, { recursive: true });
});

let endLoad: () => void = () => undefined;

/**
 * Keeps so many goals running until it is told to stop: what is slow gets no more of them. Answers their ids and
 * counters.
 */
function load(width: number) {
  const goals = new Map<string, string>();
  let isOver = false;
  endLoad = () => {
    isOver = true;
  };
  const run = async (): Promise<void> => {
    while (!isOver) {
      const counter = `c-${randomUUID()}`;
      const id = await desk.submit({ plan: 'count', inputs: { counter, waitMs: 700 } });
      goals.set(id, counter);
      await desk.result(id, 120_000);
    }
  };
  const running = Promise.all(Array.from({ length: width }, run));
  // A goal that does not end is reported where the goals are looked at.
  running.catch(() => undefined);
  const end = async (): Promise<ReadonlyMap<string, string>> => {
    endLoad();
    await running;
    return goals;
  };
  return { end };
}

const countsOf = (counter: string): number => {
  const file = join(counterDir, `${counter}.log`);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0;
};

/** Every goal ended well, once, with each of its effects done once; its log proves it. */
async function settled(goals: ReadonlyMap<string, string>): Promise<Proved> {
  const logs: ReadSession[] = [];
  for (const [id, counter] of goals) {
    expect(await desk.result(id, 120_000), id).toMatchObject({ status: 'completed' });
    const session = sessionId('default', '', id);
    await sessions.closed(session);
    await goalLogs.closed(goalLogId(session));
    const goalLog = goalLogId(session);
    logs.push({ session, partition: sessions.partitionOf(session) });
    logs.push({ session: goalLog, partition: goalLogs.partitionOf(goalLog) });
    expect(countsOf(counter)).toBe(3);
    expect(new Set(desk.resultRecords(id).map(({ headers }) => headers['ce_id'])).size).toBe(1);
  }
  const proved = await provedByBoth(backing.stack, logs);
  // A request may cross a hand-over; it is no habit.
  expect(proved.decidedAgain).toBeLessThan(proved.steps / 20);
  return proved;
}

describe('a rolling restart of every service under load', () => {
  it('loses no step where all services share a host', async () => {
    let current = await start();
    const goals = load(6);
    for (let round = 0; round < 2; round++) {
      await sleep(700);
      current = await replace(current, {});
    }
    await sleep(500);
    const proved = await settled(await goals.end());
    expect(proved.loss).toEqual([]);
    expect(proved.steps).toBeGreaterThan(100);
    expect(proved.releases).toHaveLength(1);
  }, 300_000);

  it('loses no step where each service is a process of its own', async () => {
    const running = new Map<string, LiveHost>();
    for (const name of names) running.set(name, await start({ services: [name] }));
    const goals = load(3);
    for (const [name, old] of running) await replace(old, { services: [name] });
    const proved = await settled(await goals.end());
    expect(proved.loss).toEqual([]);
    expect(proved.steps).toBeGreaterThan(100);
  }, 600_000);
});

describe('an upgrade and a roll-back under load', () => {
  it('with other decisions, machines and checkpoints go through without a stop', async () => {
    const old = await start();
    const goals = load(6);
    await sleep(700);
    const next = await replace(old, { next: true });
    await sleep(1_500);
    await replace(next, {});
    await sleep(700);
    const proved = await settled(await goals.end());
    expect(proved.loss).toEqual([]);
    expect(proved.releases).toContain(nextReleaseName);
    expect(proved.hashed).toBeGreaterThan(0);
  });
});
