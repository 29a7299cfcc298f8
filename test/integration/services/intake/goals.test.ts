import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keysTopic } from '../../../../schemas/topics.ts';
import { goalLogId, sessionId } from '../../../../services/chassis/protocol/ids.ts';
import { GoalDesk, type Result } from '../../../support/goal-desk.ts';
import { LiveHost } from '../../../support/live-hosts.ts';
import { stackUnderTest } from '../../../support/live-stack.ts';
import { SessionLogs } from '../../../support/session-log.ts';

const stack = stackUnderTest();
const host = new LiveHost({ stack, eventStore: false });
let desk: GoalDesk;
let sessions: SessionLogs;
let goalLogs: SessionLogs;

beforeAll(async () => {
  await host.ready();
  desk = await GoalDesk.open(stack);
  sessions = await SessionLogs.open(stack);
  goalLogs = await SessionLogs.open(stack, keysTopic);
});
afterAll(async () => {
  await Promise.all([desk.close(), sessions.close(), goalLogs.close()]);
  await host.remove();
});

const newId = (): string => `goal-${randomUUID()}`;
const echo = (said: string): object => ({ goal: 'of a test', plan: 'echo', inputs: { said } });
const wait = (waitMs: number): object => {
  const inputs = { counter: `c-${randomUUID()}`, waitMs };
  return { goal: 'of a test', plan: 'count', inputs };
};
const sessionOf = (id: string): string => sessionId('default', '', id);
const running = (session: string): Promise<unknown> =>
  sessions.until(session, ({ events }) => events.some(({ type }) => type === 'tool.claimed'));

describe('a goal', () => {
  it('that comes again is the same goal, while it runs and after', async () => {
    const id = newId();
    const sendAgain = (): Promise<unknown> => desk.send({ id, ...echo('once') });
    await Promise.all([sendAgain(), sendAgain(), sendAgain()]);
    const { session, output } = await desk.result(id);
    expect(output).toBe('once');
    await goalLogs.closed(goalLogId(session));
    await sendAgain();
    const marker = await desk.submit(echo('after'));
    await desk.result(marker);
    await sleep(300);
    expect(desk.resultRecords(id)).toHaveLength(1);
    const log = await sessions.closed(session);
    expect(log.events.filter(({ type }) => type === 'session.opened')).toHaveLength(1);
    expect(log.events.filter(({ type }) => type === 'tool.claimed')).toHaveLength(1);
  });

  it('is named by the header ce_id, else by its member id, else by its place', async () => {
    const [header, member] = [newId(), newId()];
    await desk.send({ id: newId(), ...echo('header') }, { headers: { ce_id: header } });
    await desk.send({ id: member, ...echo('member') }, { headers: { ce_id: '' } });
    const { place } = await desk.send(echo('place'));
    for (const [id, said] of [
      [header, 'header'],
      [member, 'member'],
      [place, 'place'],
    ] as const)
      expect(await desk.result(id)).toMatchObject({ status: 'completed', output: said });
  });

  it('of another source or another tenant is another goal, though the id is the same', async () => {
    const id = newId();
    await desk.send({ id, ...echo('a') }, { headers: { ce_source: '/shop/a' } });
    await desk.send({ id, ...echo('b') }, { headers: { ce_source: '/shop/b' } });
    await desk.send({ id, tenant: 'acme', ...echo('c') }, { headers: { ce_source: '/shop/a' } });
    await expect.poll(() => desk.resultRecords(id).length, { timeout: 10_000 }).toBe(3);
  });

  it('is taken in the wire format of the registry too', async () => {
    const id = newId();
    await desk.sendFramed({ id, labels: { team: 'checkout' }, ...echo('framed') });
    const result = await desk.result(id);
    expect(result).toMatchObject({ output: 'framed', labels: { team: 'checkout' } });
  });
});

describe('a cancel', () => {
  it('stops a goal by its id, and what it runs', async () => {
    const id = await desk.submit(wait(60_000));
    await running(sessionOf(id));
    await desk.send({ cancel: id, requestedBy: 'ann', reason: 'not needed' });
    const result = await desk.result(id);
    const message = 'Cancelled by ann: not needed';
    expect(result).toMatchObject({ status: 'cancelled', error: { message } });
    await sessions.closed(result.session);
    await goalLogs.closed(goalLogId(result.session));
  });

  it('stops a goal by its session', async () => {
    const id = await desk.submit(wait(60_000));
    await running(sessionOf(id));
    await desk.send({ cancel: sessionOf(id) });
    expect(await desk.result(id)).toMatchObject({ status: 'cancelled' });
    await sessions.closed(sessionOf(id));
  });

  it('that comes before its goal stops it all the same', async () => {
    const id = newId();
    await desk.send({ cancel: id, reason: 'too early' }, { key: id });
    await desk.send({ id, ...wait(60_000) }, { key: id });
    const result = await desk.result(id);
    expect(result).toMatchObject({ status: 'cancelled', error: { message: 'too early' } });
    expect(sessions.of(result.session).records).toEqual([]);
  });

  it('changes nothing once the goal has ended', async () => {
    const id = await desk.submit(echo('done'));
    const { session } = await desk.result(id);
    await goalLogs.closed(goalLogId(session));
    await desk.send({ cancel: id });
    await desk.result(await desk.submit(echo('after')));
    await sleep(300);
    expect(desk.resultRecords(id)).toHaveLength(1);
  });
});

describe('goals of one key', () => {
  it('run one after another, in the order in which they came', async () => {
    const key = newId();
    const ids: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      ids.push(await desk.submit({ ...wait(100), key }));
      await sleep(100);
    }
    const results: Result[] = [];
    for (const id of ids) results.push(await desk.result(id));
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    for (const [index, { openedAt }] of results.slice(1).entries())
      expect(Date.parse(openedAt)).toBeGreaterThanOrEqual(
        Date.parse(results[index]?.endedAt ?? ''),
      );
  });

  it('of different tenants do not wait for each other', async () => {
    const key = newId();
    const first = await desk.submit({ ...wait(60_000), key });
    const other = await desk.submit({ ...echo('free'), key, tenant: 'acme' });
    expect(await desk.result(other)).toMatchObject({ status: 'completed' });
    expect(desk.resultRecords(first)).toEqual([]);
    await desk.send({ cancel: first });
    expect(await desk.result(first)).toMatchObject({ status: 'cancelled' });
  });

  it('that wait can be cancelled before they start, and the next one goes on', async () => {
    const key = newId();
    const first = await desk.submit({ ...wait(60_000), key });
    await running(sessionOf(first));
    const second = await desk.submit({ ...echo('never'), key });
    await goalLogs.until(goalLogId(sessionOf(second)), ({ events }) =>
      events.some(({ type }) => type === 'goal.queued'),
    );
    const third = await desk.submit({ ...echo('third'), key });
    await desk.send({ cancel: second, reason: 'changed my mind' });
    const cancelled = await desk.result(second);
    expect(cancelled).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
    expect(sessions.of(cancelled.session).records).toEqual([]);
    await desk.send({ cancel: first });
    expect(await desk.result(first)).toMatchObject({ status: 'cancelled' });
    expect(await desk.result(third)).toMatchObject({ status: 'completed', output: 'third' });
  });
});
