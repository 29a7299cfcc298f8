import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { type Draft, event, json, type SeenEvent, text } from '../../../../schemas/event.ts';
import { publicSchemas } from '../../../../schemas/generated/schemas.ts';
import {
  deadLettersTopic,
  keysTopic,
  resultsTopic,
  sessionTopic,
} from '../../../../schemas/topics.ts';
import { messageId } from '../../../../services/chassis/protocol/ids.ts';
import type { Delivery } from '../../../../services/chassis/protocol/service-logic.ts';
import { problemOfDraft } from '../../../../services/chassis/protocol/validate.ts';
import { deliveriesOf } from '../../../../services/intake/deliveries.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { received } from '../../../support/intake-world.ts';

const labels = { team: 'red' };

function of(draft: Draft): Delivery[] {
  const bench = new BenchSession([], { session: 'goal_ses_1', labels });
  const [seen] = bench.append([draft], 'intake');
  return deliveriesOf(seen as SeenEvent, bench.meta);
}

const known = { goalId: 'g', session: 'ses_1', receivedAtMs: 1_000 };
const origin = { topic: 'longrein.goals', partition: 0, offset: 1 };
const { origin: _origin, receivedAtMs: _at, ...meta } = received();
const rejected = (deadLetter: boolean) =>
  event(
    'goal.rejected',
    { ...known, origin, code: 'PLAN_UNKNOWN', field: 'plan', deadLetter },
    {
      message: text('there is no such plan'),
      fix: text('Name another.'),
      ...(deadLetter ? { original: json('e30=') } : {}),
    },
  );

const events: readonly Draft[] = [
  event(
    'goal.admitted',
    { ...meta, goalLog: 'goal_ses_1', openedAtMs: 1_000 },
    { goal: text('Say it.'), inputs: json({ a: 1 }), context: json({ b: 2 }) },
  ),
  event('goal.queued', { keyLog: 'key_1', session: 'ses_1' }),
  rejected(true),
  rejected(false),
  event('goal.cancelled', { ...known, requestedBy: 'mary' }, { reason: text('') }),
  event(
    'goal.cancel-forwarded',
    { session: 'ses_1', lane: 'high', requestedBy: 'mary' },
    { reason: text('late') },
  ),
  event('goal.ended', { status: 'completed', keyLog: 'key_1' }),
  event('key.assigned', { goalLog: 'goal_a', waiting: 0 }),
  event('key.denied', { goalLog: 'goal_a', waiting: 1_000 }),
];

describe('a write to another log', () => {
  test.each([
    ['goal.admitted', sessionTopic('normal'), 'ses_1', 'session.opened'],
    ['goal.queued', keysTopic, 'key_1', 'key.requested'],
    ['goal.cancel-forwarded', sessionTopic('high'), 'ses_1', 'session.cancel-requested'],
    ['goal.ended', keysTopic, 'key_1', 'key.released'],
    ['key.assigned', keysTopic, 'goal_a', 'key.granted'],
    ['key.denied', keysTopic, 'goal_a', 'key.refused'],
  ])('follows from %s', (type, topic, session, relayed) => {
    const draft = events.find((one) => one.type === type);
    const [delivery, ...more] = draft === undefined ? [] : of(draft);
    expect(more).toEqual([]);
    expect(delivery).toMatchObject({ to: 'log', topic, session, event: { type: relayed } });
  });

  test('opens the session with all that the goal carries, once for each session', () => {
    const [delivery] = of(events[0] as Draft);
    const { session: _gone, ...data } = meta;
    expect(delivery).toMatchObject({
      identity: ['opened'],
      event: event(
        'session.opened',
        { ...data, goalLog: 'goal_ses_1', openedAtMs: 1_000 },
        { goal: text('Say it.'), inputs: json({ a: 1 }), context: json({ b: 2 }) },
      ),
    });
  });

  test('is not made by an end without a key, nor by what is nobody else‘s business', () => {
    expect(of(event('goal.ended', { status: 'completed' }))).toEqual([]);
    expect(of(event('key.freed', { goalLog: 'goal_a' }))).toEqual([]);
    expect(of(event('session.closed', {}))).toEqual([]);
  });

  test('carries an event that its schema accepts', () => {
    for (const delivery of events.flatMap(of))
      if (delivery.to === 'log') expect(problemOfDraft(delivery.event)).toBeUndefined();
  });
});

describe('an answer to who asked', () => {
  test('for a rejected goal is a result with the reason; its bytes are a dead letter', () => {
    const [letter, result, ...more] = of(rejected(true));
    expect(more).toEqual([]);
    expect(letter).toMatchObject({
      topic: deadLettersTopic,
      key: 'g',
      id: messageId('ses_1', ['dead-letter']),
      value: {
        reason: { code: 'PLAN_UNKNOWN', field: 'plan', fix: 'Name another.' },
        origin,
        original: 'e30=',
        goalId: 'g',
      },
    });
    expect(result).toMatchObject({
      topic: resultsTopic,
      key: 'ses_1',
      id: messageId('ses_1', ['result']),
      value: { goalId: 'g', session: 'ses_1', status: 'rejected', labels },
    });
    expect(of(rejected(false)).map((one) => one.topic)).toEqual([resultsTopic]);
  });

  test('for a goal that was cancelled before its session opened says so', () => {
    const [result] = of(events[4] as Draft);
    expect(result).toMatchObject({
      value: {
        status: 'cancelled',
        error: { code: 'CANCELLED', message: 'cancelled before its session opened' },
        openedAt: '1970-01-01T00:00:01.000Z',
      },
    });
  });

  test('is one that its public schema accepts', () => {
    const ajv = new Ajv2020({ strict: false });
    const named = (name: string) =>
      ajv.compile(
        publicSchemas.find((one) => one['$id'] === `urn:longrein:public:${name}:v1`) as Record<
          string,
          unknown
        >,
      );
    const check = new Map([
      [resultsTopic, named('result')],
      [deadLettersTopic, named('dead-letter')],
    ]);
    for (const delivery of events.flatMap(of)) {
      if (delivery.to !== 'public') continue;
      const validate = check.get(delivery.topic);
      expect(validate?.(delivery.value), JSON.stringify(validate?.errors)).toBe(true);
    }
  });
});

test('the same event makes the same deliveries, byte for byte', () => {
  for (const draft of events) expect(JSON.stringify(of(draft))).toBe(JSON.stringify(of(draft)));
});

test('deliveries of one log to another have ids of their own', () => {
  const identities = events.flatMap(of).flatMap((one) => (one.to === 'log' ? [one] : []));
  const names = identities.map(({ session, identity }) => `${session} ${identity.join('/')}`);
  expect(new Set(names).size).toBe(names.length);
});
