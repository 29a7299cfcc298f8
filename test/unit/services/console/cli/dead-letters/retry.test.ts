import { describe, expect, test } from 'vitest';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import type { RecordBody } from '../../../../../../services/chassis/protocol/record.ts';
import type { Letter } from '../../../../../../services/console/cli/dead-letters/letter.ts';
import {
  needsSession,
  type Retry,
  retryOf,
  retryOfSession,
} from '../../../../../../services/console/cli/dead-letters/retry.ts';

const base = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');

const letter = (more: Partial<Letter>): Letter => ({
  ...{ id: 'msg_0123456789abcdef', state: 'open', acts: [], recordKey: 'k', at: '' },
  reason: { code: 'X', message: 'x' },
  origin: { topic: 'longrein.sessions.normal', partition: 1, offset: 9 },
  ...more,
});

const because = (retry: Retry): string => (retry.as === 'none' ? retry.because : retry.as);

describe('a rejected goal', () => {
  const goals = { topic: 'longrein.goals', partition: 0, offset: 3 };

  test('is published again under an id that follows from the letter, so that two retries are one', () => {
    const rejected = letter({
      origin: goals,
      goalId: 'g7',
      original: base('{"goal":"go","id":"g7"}'),
    });
    const expected = {
      as: 'goal',
      goalId: 'g7-retry-89abcdef',
      body: { goal: 'go', id: 'g7-retry-89abcdef' },
    };
    expect(retryOf(rejected)).toEqual(expected);
    expect(retryOf(rejected)).toEqual(retryOf({ ...rejected }));
  });

  test('that is no JSON, or a cancel, is not', () => {
    for (const original of ['{"goal":', 'hello', '{"cancel":"g1"}'])
      expect(because(retryOf(letter({ origin: goals, original: base(original) })))).toMatch(
        /no goal/,
      );
  });
});

describe('a record of a session log', () => {
  const headers = { lr_kind: 'input', ce_id: 'inp_1', ce_subject: 'ses_a' };
  const input = createFixedCodec().encode('input', { kind: 'input', event: { type: 'x' } });

  test('that can be read now is appended again as it was: its id makes it count once', () => {
    const found = retryOf(letter({ headers, key: 'ses_a', original: base(input) }));
    expect(found).toMatchObject({
      as: 'record',
      topic: 'longrein.sessions.normal',
      key: 'ses_a',
      headers,
    });
    expect(found.as === 'record' && Buffer.from(found.value).equals(Buffer.from(input))).toBe(true);
  });

  test.each([
    ['still cannot be read', { headers, original: base('\u0000bad') }],
    [
      'counts at its own place',
      { headers: { ...headers, lr_kind: 'turn' }, original: base(input) },
    ],
    ['another program', { headers: {}, original: base('x') }],
    ['holds no bytes', { headers }],
  ])('that %s is not', (why, more) => {
    expect(because(retryOf(letter(more)))).toContain(why);
  });
});

describe('a session whose service could not decide', () => {
  const session = `ses_${'0'.repeat(32)}`;
  const failed = letter({ service: 'planner', session });
  const sealed = (body: unknown) => ({ digest: '', mediaType: '', bytes: 0, body });
  const opening = {
    ...{ kind: 'input', session, tenant: 'acme', principal: 'mary', labels: { team: 'red' } },
    event: {
      type: 'session.opened',
      data: { goalId: 'g1', plan: 'count', priority: 'high', timeoutMs: 5, lane: 'high' },
      content: { goal: sealed('Count.'), inputs: sealed({ n: 1 }) },
    },
  };
  const turn = (...events: [string, object][]) => ({
    kind: 'turn',
    events: events.map(([type, data]) => ({ type, data })),
  });
  const bodies = (...all: object[]): RecordBody[] => [opening, ...all] as unknown as RecordBody[];
  const call = { call: 'c1', tool: 'pay' };
  const permitted = (effect: string): [string, object] => ['tool.permitted', { ...call, effect }];
  const claimed: [string, object] = ['tool.claimed', call];

  test('needs its log, one that belongs to no goal does not', () => {
    expect(needsSession(failed)).toBe(true);
    expect(needsSession(letter({ service: 'intake', session: 'goal_x' }))).toBe(false);
    expect(because(retryOf(letter({ service: 'intake', session: 'goal_x' })))).toContain(
      'no session',
    );
  });

  test('is begun anew as a goal of the same content', () => {
    expect(retryOfSession(failed, bodies(turn(permitted('idempotent'), claimed)))).toEqual({
      ...{ as: 'goal', goalId: 'g1-retry-89abcdef' },
      body: {
        ...{ id: 'g1-retry-89abcdef', goal: 'Count.', inputs: { n: 1 }, plan: 'count' },
        ...{ priority: 'high', timeoutMs: 5, tenant: 'acme', principal: 'mary' },
        labels: { team: 'red' },
      },
    });
  });

  test.each([
    ['whose outcome nobody saw', [], 'pay (unknown)'],
    ['that happened', [turn(['tool.completed', call])], 'pay (completed)'],
    ['that failed somewhere', [turn(['tool.failed', call])], 'pay (failed)'],
  ])('is not, where a call that must not be made twice was claimed %s', (_what, more, said) => {
    const found = retryOfSession(failed, bodies(turn(permitted('at-most-once'), claimed), ...more));
    expect(because(found)).toContain(said);
  });

  test('is not, where a call was claimed that nobody permitted: nothing is known of it', () => {
    expect(because(retryOfSession(failed, bodies(turn(claimed))))).toContain('pay (unknown)');
  });

  test('is begun anew where such a call was permitted and never claimed', () => {
    expect(retryOfSession(failed, bodies(turn(permitted('at-most-once')))).as).toBe('goal');
  });
});
