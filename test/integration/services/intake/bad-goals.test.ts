import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../../schemas/limits.ts';
import { GoalDesk, type Sent } from '../../../support/goal-desk.ts';
import { LiveHost } from '../../../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../../../support/live-stack.ts';

const stack = stackUnderTest();
// The examples have a plan for goals that name none; this catalog has not.
const host = new LiveHost({ stack, catalog: [fixture('catalog')], eventStore: false });
let desk: GoalDesk;

beforeAll(async () => {
  await host.ready();
  desk = await GoalDesk.open(stack);
});
afterAll(async () => {
  await desk.close();
  await host.remove();
});

type BadGoal = Readonly<{
  what: string;
  value: Buffer | string | null;
  headers?: Readonly<Record<string, string>>;
  code: string;
  field?: string;
  /** What the message or the fix must name. */
  says: RegExp;
}>;

const goal = (members: object): string => JSON.stringify({ goal: 'of a test', ...members });
const framed = (id: number, text: string): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, Buffer.from(text)]);
};
const padded = (bytes: number): string => goal({ context: { padding: 'x'.repeat(bytes) } });

const bad: readonly BadGoal[] = [
  { what: 'text that is not JSON', value: '{goal: now', code: 'GOAL_NOT_JSON', says: /JSON/ },
  {
    what: 'bytes that are no text',
    value: Buffer.from([0xff, 0xfe, 0x00, 0x80]),
    code: 'GOAL_NOT_JSON',
    says: /UTF-8/,
  },
  { what: 'a list', value: '["goal"]', code: 'GOAL_NOT_OBJECT', says: /"goal"/ },
  { what: 'the word null', value: 'null', code: 'GOAL_NOT_OBJECT', says: /"goal"/ },
  { what: 'a record without value', value: null, code: 'GOAL_EMPTY', says: /no value/ },
  { what: 'an empty value', value: '', code: 'GOAL_EMPTY', says: /no value/ },
  {
    what: 'no member "goal"',
    value: '{"plan":"echo"}',
    code: 'GOAL_FIELD_MISSING',
    field: 'goal',
    says: /goal/,
  },
  {
    what: 'a member of the wrong type',
    value: goal({ plan: 'echo', timeoutMs: 'soon' }),
    code: 'GOAL_FIELD_INVALID',
    field: 'timeoutMs',
    says: /timeoutMs.*integer/,
  },
  {
    what: 'a label that is no text',
    value: goal({ plan: 'echo', labels: { team: 7 } }),
    code: 'GOAL_FIELD_INVALID',
    field: 'labels.team',
    says: /labels\.team.*string/,
  },
  {
    what: 'a member that is not known',
    value: goal({ plan: 'echo', pryority: 'high' }),
    code: 'GOAL_FIELD_INVALID',
    field: 'pryority',
    says: /pryority/,
  },
  {
    what: 'a value that is none of the list',
    value: goal({ plan: 'echo', priority: 'urgent' }),
    code: 'GOAL_FIELD_INVALID',
    field: 'priority',
    says: /high.*normal.*bulk/,
  },
  {
    what: 'a plan that is not there',
    value: goal({ plan: 'ecko' }),
    code: 'PLAN_UNKNOWN',
    field: 'plan',
    says: /"ecko".*echo/,
  },
  { what: 'no plan', value: goal({}), code: 'PLAN_UNKNOWN', field: 'plan', says: /Name one of/ },
  {
    what: 'an input that is missing',
    value: goal({ plan: 'count' }),
    code: 'INPUT_INVALID',
    field: 'inputs.counter',
    says: /counter/,
  },
  {
    what: 'an input of the wrong type',
    value: goal({ plan: 'count', inputs: { counter: 7 } }),
    code: 'INPUT_INVALID',
    field: 'inputs.counter',
    says: /string/,
  },
  {
    what: 'an input that the plan does not know',
    value: goal({ plan: 'echo', inputs: { sayd: 'hello' } }),
    code: 'INPUT_INVALID',
    field: 'inputs.sayd',
    says: /said/,
  },
  {
    what: 'more than the size limit',
    value: padded(limits.goalBytesMax),
    code: 'GOAL_TOO_LARGE',
    says: new RegExp(`${limits.goalBytesMax}`),
  },
  {
    what: 'as much as the topic takes',
    value: padded(1_090_000),
    code: 'GOAL_TOO_LARGE',
    says: new RegExp(`${limits.goalBytesMax}`),
  },
  {
    what: 'a schema id that nobody registered',
    value: framed(999_999, goal({ plan: 'echo' })),
    code: 'SCHEMA_ID_UNKNOWN',
    says: /999999/,
  },
  {
    what: 'a schema id that nobody registered, before bytes that are no JSON',
    value: framed(999_999, '\u0002\u0006abc'),
    code: 'SCHEMA_ID_UNKNOWN',
    says: /999999/,
  },
  {
    what: 'an id that is too long',
    value: goal({ id: 'x'.repeat(129), plan: 'echo' }),
    code: 'GOAL_FIELD_INVALID',
    field: 'id',
    says: /128/,
  },
  {
    what: 'a header ce_id that is too long',
    value: goal({ plan: 'echo' }),
    headers: { ce_id: 'x'.repeat(129) },
    code: 'GOAL_HEADER_INVALID',
    field: 'ce_id',
    says: /128/,
  },
  {
    what: 'a cancel without a name',
    value: '{"cancel":""}',
    code: 'GOAL_FIELD_INVALID',
    field: 'cancel',
    says: /cancel/,
  },
];

describe('a goal that cannot be taken up', () => {
  const sent = new Map<string, Sent>();
  let after = '';

  beforeAll(async () => {
    for (const { what, value, headers = {} } of bad)
      sent.set(what, await desk.send(value, { headers, key: 'bad-goals' }));
    after = `goal-${randomUUID()}`;
    await desk.send(goal({ id: after, plan: 'echo' }), { key: 'bad-goals' });
  });

  it.each(bad)('gets one rejection that says what to do: $what', async (one) => {
    const { place, partition, offset } = sent.get(one.what) as Sent;
    const result = await desk.result(place);
    expect(result).toMatchObject({ status: 'rejected', error: { code: one.code } });
    expect(result.error?.field).toBe(one.field);
    expect(result.error?.fix).not.toBe('');
    expect(`${result.error?.message} ${result.error?.fix}`).toMatch(one.says);
    const letter = await desk.deadLetter(place);
    expect(letter.reason).toEqual(result.error);
    expect(letter.origin).toEqual({ topic: 'longrein.goals', partition, offset });
    const original = Buffer.from(letter.original ?? '', 'base64');
    expect(original.equals(Buffer.from(one.value ?? ''))).toBe(true);
  });

  it('does not hold up the next goal of its partition', async () => {
    expect(await desk.result(after)).toMatchObject({ status: 'completed', output: 'hello' });
  });

  it('is answered and set aside once', () => {
    for (const { place } of sent.values()) {
      expect(desk.resultRecords(place)).toHaveLength(1);
      expect(desk.deadLetters.filter(({ goalId }) => goalId === place)).toHaveLength(1);
    }
  });
});
