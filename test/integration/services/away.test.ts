import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionId } from '../../../services/chassis/protocol/ids.ts';
import { GoalDesk } from '../../support/goal-desk.ts';
import { LiveHost, type LogLine } from '../../support/live-hosts.ts';
import { OwnBacking } from '../../support/own-backing.ts';
import { SessionLogs } from '../../support/session-log.ts';

let backing: OwnBacking;
let host: LiveHost;

const waitsFor =
  (what: string) =>
  (line: LogLine): boolean =>
    line.msg?.startsWith(`waiting for ${what}`) === true;

beforeAll(async () => {
  backing = await OwnBacking.prepare();
  host = new LiveHost({ stack: backing.stack });
});
afterAll(async () => {
  await host.remove();
  await backing.remove();
});

describe('a host whose broker, registry and ClickHouse are away', () => {
  it('says within ten seconds which broker it waits for and what to do, and waits', async () => {
    const line = await host.said(waitsFor('the broker'));
    expect(`${line.msg} ${line.error}`).toContain(backing.stack.brokers[0]);
    expect(line.code).toBe('BROKER_UNREACHABLE');
    expect(line.fix).toMatch(/broker runs/);
    expect(host.running).toBe(true);
  });

  it('goes on when the broker comes, and says the same of the registry', async () => {
    await backing.startBroker();
    const line = await host.said(waitsFor('the schema registry'));
    expect(`${line.msg} ${line.error}`).toContain(backing.stack.registryUrl);
    expect(line.code).toBe('REGISTRY_UNREACHABLE');
    expect(line.fix).toMatch(/LONGREIN_REGISTRY_URL/);
    expect(host.running).toBe(true);
  });

  it('begins its work when the registry comes, and says that rows wait for ClickHouse', async () => {
    await backing.startRegistry();
    await host.ready();
    const line = await host.said(({ msg }) => msg?.startsWith('ClickHouse') === true);
    expect(`${line.msg} ${line.error}`).toContain(new URL(backing.stack.clickhouseUrl).host);
    expect(line.fix).toMatch(/URL is right/);
    const desk = await GoalDesk.open(backing.stack);
    const result = await desk.result(
      await desk.submit({ plan: 'echo', inputs: { said: 'at last' } }),
    );
    expect(result).toMatchObject({ status: 'completed', output: 'at last' });
    await desk.close();
  });
});

describe('a broker that goes away in the middle of a goal', () => {
  it('is waited for: the goal goes on, with no loss, no crash and no dead letter', async () => {
    const desk = await GoalDesk.open(backing.stack);
    const sessions = await SessionLogs.open(backing.stack);
    const inputs = { counter: `c-${randomUUID()}`, waitMs: 1_500 };
    const id = await desk.submit({ plan: 'count', inputs });
    const audit = await desk.submit({ plan: 'lockfile-audit' });
    const session = sessionId('default', '', id);
    await sessions.until(session, ({ events }) =>
      events.some(({ type }) => type === 'tool.claimed'),
    );
    await backing.stopRegistry();
    await backing.stopBroker();
    await backing.startBroker();
    expect(await desk.result(id)).toMatchObject({ status: 'completed' });
    expect(await desk.result(audit)).toMatchObject({ status: 'completed' });
    await sessions.closed(session);
    const later = await desk.submit({ plan: 'echo', inputs: { said: 'after' } });
    expect(await desk.result(later)).toMatchObject({ output: 'after' });
    expect(desk.deadLetters).toEqual([]);
    expect(host.running).toBe(true);
    expect(host.log.filter(({ level = 0 }) => level >= 50)).toEqual([]);
    await Promise.all([desk.close(), sessions.close()]);
  });
});
