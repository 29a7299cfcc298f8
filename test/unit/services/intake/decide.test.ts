import { describe, expect, test } from 'vitest';
import { event, json, text } from '../../../../schemas/event.ts';
import { limits } from '../../../../schemas/limits.ts';
import { goalLogId } from '../../../../services/chassis/protocol/ids.ts';
import { intakeLogic } from '../../../../services/intake/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  cancelInput,
  goalInput,
  IntakeWorld,
  keyLog,
  received,
} from '../../../support/intake-world.ts';

const goalLog = (): BenchSession =>
  new BenchSession([{ logic: intakeLogic }], { session: goalLogId('ses_1') });
const drafts = (bench: BenchSession) => bench.propose('intake');
const acknowledgeAll = (bench: BenchSession): void => {
  for (const { record, index, type, service } of [...bench.events]) {
    if (service !== 'intake' || type === 'delivery.acknowledged') continue;
    bench.append(
      [event('delivery.acknowledged', { record, index, destinations: ['x'] })],
      'intake',
    );
  }
};

describe('a goal that the broker will not let pass', () => {
  const refuse = (bench: BenchSession, type: string): void => {
    const sent = bench.events.findLast((one) => one.type === type);
    const data = {
      record: sent?.record ?? '',
      index: sent?.index ?? 0,
      code: 'DELIVERY_TOO_LARGE',
    };
    const message = text('more than 10 bytes');
    bench.append([event('delivery.refused', data, { message })], 'intake');
  };
  const rejection = {
    type: 'goal.rejected',
    data: { code: 'DELIVERY_TOO_LARGE', deadLetter: false },
  };

  test('into its session is rejected with the reason, and its log closes', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.settle();
    refuse(bench, 'goal.admitted');
    const [rejected, ...rest] = drafts(bench);
    expect(rest).toEqual([]);
    expect(rejected).toMatchObject(rejection);
    expect(String(rejected?.content?.message?.body)).toContain('more than 10 bytes');
    bench.append(drafts(bench), 'intake');
    bench.append(drafts(bench), 'intake');
    acknowledgeAll(bench);
    expect(drafts(bench)).toEqual([event('session.closed', {})]);
  });

  test('is rejected also where its cancel was on the way already', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.settle();
    bench.input(cancelInput());
    bench.settle();
    refuse(bench, 'goal.admitted');
    expect(drafts(bench)[0]).toMatchObject(rejection);
  });

  test('is not rejected for a cancel that alone is refused: its session runs', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.settle();
    acknowledgeAll(bench);
    bench.input(cancelInput());
    bench.settle();
    refuse(bench, 'goal.cancel-forwarded');
    expect(drafts(bench)).toEqual([]);
    bench.input(event('session.ended', { session: 'ses_1', status: 'completed' }));
    expect(drafts(bench).map(({ type }) => type)).toEqual(['goal.ended', 'session.closed']);
  });

  test('to the log of its key is rejected', () => {
    const bench = goalLog();
    bench.input(goalInput({ key: 'k' }));
    expect(bench.typesOf(bench.settle())).toEqual(['goal.queued']);
    refuse(bench, 'goal.queued');
    expect(drafts(bench)[0]).toMatchObject(rejection);
  });
});

describe('a goal without a key', () => {
  test('is admitted at once, with all that it carries', () => {
    const bench = goalLog();
    const extra = { timeoutMs: 5, budgetNanoUsd: 7, labels: undefined };
    const { labels: _none, ...more } = extra;
    const draft = event('goal.received', received(more), {
      goal: text('Say it.'),
      inputs: json({ said: 'x' }),
    });
    bench.input(draft);
    const { origin: _origin, receivedAtMs: _at, ...data } = received(more);
    expect(drafts(bench)).toEqual([
      event(
        'goal.admitted',
        { ...data, goalLog: goalLogId('ses_1'), openedAtMs: bench.nowMs },
        { goal: text('Say it.'), inputs: json({ said: 'x' }) },
      ),
    ]);
  });

  test('ends with its session, and its log closes when all was delivered', () => {
    const bench = goalLog();
    bench.input(goalInput());
    expect(bench.typesOf(bench.settle())).toEqual(['goal.admitted']);
    bench.input(event('session.ended', { session: 'ses_1', status: 'failed' }));
    expect(bench.typesOf(bench.settle())).toEqual(['goal.ended']);
    acknowledgeAll(bench);
    expect(drafts(bench)).toEqual([event('session.closed', {})]);
    expect(bench.events.find(({ type }) => type === 'goal.ended')?.data).toEqual({
      status: 'failed',
    });
  });

  test('closes its log with its end where all was delivered before', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.settle();
    acknowledgeAll(bench);
    bench.input(event('session.ended', { session: 'ses_1', status: 'completed' }));
    expect(drafts(bench).map(({ type }) => type)).toEqual(['goal.ended', 'session.closed']);
  });

  test('is not touched by what comes after its end', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.settle();
    bench.input(event('session.ended', { session: 'ses_1', status: 'completed' }));
    bench.settle();
    bench.input(event('session.ended', { session: 'ses_1', status: 'failed' }));
    bench.input(cancelInput());
    bench.input(event('key.granted', { keyLog: 'key_x' }));
    expect(drafts(bench)).toEqual([]);
  });
});

describe('a goal that cannot be accepted', () => {
  const refused = (original: boolean): BenchSession => {
    const bench = goalLog();
    const problem = { code: 'PLAN_UNKNOWN', field: 'plan' };
    const told = json({ message: 'there is no plan "x"', fix: 'Name one of: echo.' });
    const content = original ? { problem: told, original: json('e30=') } : { problem: told };
    bench.input(event('goal.received', received({ problem, key: 'k' }), content));
    return bench;
  };

  test('is rejected with its reason, and its bytes go to the dead letters', () => {
    const [draft] = drafts(refused(true));
    expect(draft).toMatchObject({
      type: 'goal.rejected',
      data: { code: 'PLAN_UNKNOWN', field: 'plan', deadLetter: true, session: 'ses_1' },
      content: {
        message: { body: 'there is no plan "x"' },
        fix: { body: 'Name one of: echo.' },
        original: { body: 'e30=' },
      },
    });
  });

  test('without bytes is no dead letter', () => {
    expect(drafts(refused(false))[0]?.data).toMatchObject({ deadLetter: false });
  });

  test('holds no key, ends as rejected, and closes only when its answer was delivered', () => {
    const bench = refused(true);
    expect(bench.typesOf(bench.settle())).toEqual(['goal.rejected', 'goal.ended']);
    expect(bench.events.at(-1)?.data).toEqual({ status: 'rejected' });
    acknowledgeAll(bench);
    expect(drafts(bench)).toEqual([event('session.closed', {})]);
  });

  test('is rejected all the same when it is cancelled meanwhile', () => {
    const bench = refused(true);
    bench.input(cancelInput());
    expect(drafts(bench).map(({ type }) => type)).toEqual(['goal.rejected']);
  });
});

describe('a cancel', () => {
  test('before the session was opened ends the goal without one', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.input(cancelInput('too late'));
    const [draft, ...more] = drafts(bench);
    expect(more).toEqual([]);
    expect(draft).toMatchObject({
      type: 'goal.cancelled',
      data: { requestedBy: 'mary', session: 'ses_1' },
      content: { reason: { body: 'too late' } },
    });
    bench.settle();
    expect(bench.typesOf()).not.toContain('goal.admitted');
  });

  test('after the session was opened goes on to it, once', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.settle();
    bench.input(cancelInput('a'));
    bench.input(cancelInput('b'));
    expect(drafts(bench)).toMatchObject([
      {
        type: 'goal.cancel-forwarded',
        data: { session: 'ses_1', lane: 'normal', requestedBy: 'mary' },
        content: { reason: { body: 'a' } },
      },
    ]);
    bench.settle();
    expect(drafts(bench)).toEqual([]);
  });

  test('that crosses the admission goes on to the session', () => {
    const bench = goalLog();
    bench.input(goalInput());
    const admission = drafts(bench);
    bench.input(cancelInput());
    bench.append(admission, 'intake');
    expect(drafts(bench).map(({ type }) => type)).toEqual(['goal.cancel-forwarded']);
  });

  test('without a reason has an empty one', () => {
    const bench = goalLog();
    bench.input(goalInput());
    bench.input(event('goal.cancel-received', { requestedBy: '' }));
    expect(drafts(bench)[0]?.content).toEqual({ reason: text('') });
  });
});

describe('goals of one key', () => {
  const world = (...sessions: readonly string[]): IntakeWorld => {
    const intake = new IntakeWorld();
    for (const session of sessions) intake.receive(session, { key: 'nightly' });
    intake.drain();
    return intake;
  };
  const sessions = ['ses_1', 'ses_2', 'ses_3'];

  test('run one after another, in the order in which they asked', () => {
    const intake = world(...sessions);
    const order: string[] = [];
    while (intake.running.size > 0) {
      expect(intake.running.size).toBe(1);
      const [session = ''] = intake.running;
      order.push(session);
      intake.end(session);
      intake.drain();
    }
    expect(order).toEqual(sessions);
    expect(sessions.every((one) => intake.isClosed(goalLogId(one)))).toBe(true);
    expect(intake.log(keyLog('nightly')).state('intake')).toEqual({
      kind: 'key',
      holder: null,
      queue: [],
      released: [],
    });
  });

  test('of which one that waits is cancelled: it leaves the queue, the others go on', () => {
    const intake = world(...sessions);
    intake.cancel('ses_2');
    intake.drain();
    expect(intake.published).toMatchObject([{ value: { session: 'ses_2', status: 'cancelled' } }]);
    expect(intake.isClosed(goalLogId('ses_2'))).toBe(true);
    intake.end('ses_1');
    intake.drain();
    expect([...intake.running]).toEqual(['ses_3']);
  });

  test('of which one gives the key back while its turn is on its way: the key is free again', () => {
    const bench = new BenchSession([{ logic: intakeLogic }], { session: 'key_1' });
    for (const goalLog of ['g1', 'g2', 'g3'])
      bench.input(event('key.requested', { goalLog, session: 'ses_x' }));
    bench.settle();
    bench.input(event('key.released', { goalLog: 'g1' }));
    const turn = bench.propose('intake');
    expect(turn.at(-1)).toEqual(event('key.assigned', { goalLog: 'g2', waiting: 1 }));
    bench.input(event('key.released', { goalLog: 'g2' }));
    bench.append(turn, 'intake');
    bench.settle();
    expect(bench.state('intake')).toMatchObject({ holder: 'g3', queue: [], released: [] });
  });

  test('do not wait for goals of another key, or of none', () => {
    const intake = world('ses_1', 'ses_2');
    intake.receive('ses_a', { key: 'other' });
    intake.receive('ses_b');
    intake.drain();
    expect([...intake.running].sort()).toEqual(['ses_1', 'ses_a', 'ses_b']);
  });

  test('ask once: a request that comes again changes nothing', () => {
    const bench = new BenchSession([{ logic: intakeLogic }], { session: 'key_1' });
    const request = (goalLog: string) => event('key.requested', { goalLog, session: 'ses_x' });
    for (const one of ['g1', 'g2', 'g1', 'g2']) bench.input(request(one));
    bench.settle();
    bench.input(request('g1'));
    expect(bench.state('intake')).toMatchObject({ holder: 'g1', queue: ['g2'] });
  });

  test('are refused when too many wait: the newest, with the reason, each once', () => {
    const bench = new BenchSession([{ logic: intakeLogic }], { session: 'key_1' });
    const count = limits.keyQueueMax + 3;
    for (let i = 0; i < count; i++)
      bench.input(event('key.requested', { goalLog: `g${i}`, session: `ses_${i}` }));
    const denied = bench.settle().filter(({ type }) => type === 'key.denied');
    expect(denied.map(({ data }) => data)).toEqual([
      { goalLog: `g${count - 2}`, waiting: limits.keyQueueMax },
      { goalLog: `g${count - 1}`, waiting: limits.keyQueueMax },
    ]);
    const goal = goalLog();
    goal.input(goalInput({ key: 'nightly' }));
    goal.settle();
    goal.input(event('key.refused', { keyLog: 'key_1', waiting: limits.keyQueueMax }));
    expect(drafts(goal)).toMatchObject([
      {
        type: 'goal.rejected',
        data: { code: 'KEY_QUEUE_FULL', field: 'key', deadLetter: false },
        content: { message: { body: '1000 goals wait for the key nightly already' } },
      },
    ]);
  });
});

test('an event that changes nothing leaves the very same state', () => {
  const bench = goalLog();
  bench.input(goalInput());
  bench.settle();
  const before = bench.state('intake');
  bench.input(event('key.granted', { keyLog: 'key_x' }));
  bench.input(event('key.refused', { keyLog: 'key_x', waiting: 1 }));
  expect(bench.state('intake')).toBe(before);
  const key = new BenchSession([{ logic: intakeLogic }], { session: 'key_1' });
  key.input(event('key.requested', { goalLog: 'g1', session: 'ses_1' }));
  key.settle();
  const state = key.state('intake');
  key.input(event('key.released', { goalLog: 'nobody' }));
  key.input(event('key.requested', { goalLog: 'g1', session: 'ses_1' }));
  expect(key.state('intake')).toBe(state);
});
