import { describe, expect, test } from 'vitest';
import type { DataOf } from '../../../../schemas/event.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../../services/chassis/log/port.ts';
import { goalLogId, inputId, sessionId } from '../../../../services/chassis/protocol/ids.ts';
import { problemOfEvent } from '../../../../services/chassis/protocol/validate.ts';
import { type GoalInput, goalInput } from '../../../../services/intake/goal-input.ts';
import { parseGoal } from '../../../../services/intake/parse-goal.ts';
import { catalog, echo, goalRecord } from '../../../support/goal-record.ts';

const codec = createFixedCodec();
const inputFrom = (record: LogRecord): GoalInput =>
  goalInput(record, parseGoal(record, { codec, catalog }), {
    laneOf: (lane) => lane,
    rules: [],
  });
const inputOf = (value: unknown, changes: Parameters<typeof goalRecord>[1] = {}): GoalInput =>
  inputFrom(goalRecord(value, changes));
const dataOf = ({ body }: GoalInput) => body.event.data as unknown as DataOf<'goal.received'>;

describe("a goal's id", () => {
  test('is that of its header, else its own, else its place in the topic', () => {
    const headers = { ce_id: 'from-header', ce_source: '/crm' };
    expect(dataOf(inputOf({ ...echo, id: 'own' }, { headers })).goalId).toBe('from-header');
    expect(dataOf(inputOf({ ...echo, id: 'own' })).goalId).toBe('own');
    expect(dataOf(inputOf(echo)).goalId).toBe('longrein.goals/2/7');
    expect(dataOf(inputOf({ ...echo, id: 'own' }, { headers: { ce_id: '' } })).goalId).toBe('own');
  });

  test('makes, with tenant and source, its session, its log and the id of the input', () => {
    const headers = { ce_id: 'g', ce_source: '/crm' };
    const { id, body } = inputOf({ ...echo, tenant: 'acme' }, { headers });
    const session = sessionId('acme', '/crm', 'g');
    expect(dataOf({ id, body })).toMatchObject({ session, source: '/crm' });
    expect(body.session).toBe(goalLogId(session));
    expect(id).toBe(inputId(goalLogId(session), ['goal']));
  });

  test('given again, elsewhere and with other words, is the same input', () => {
    const first = inputOf({ ...echo, id: 'g' });
    const again = inputOf({ ...echo, id: 'g', goal: 'Other.' }, { partition: 0, offset: 99 });
    expect(again.id).toBe(first.id);
    expect(inputOf({ ...echo, id: 'g', tenant: 'other' }).id).not.toBe(first.id);
  });
});

test('the same record gives the same input, byte for byte', () => {
  const record = goalRecord({ ...echo, id: 'g', inputs: { said: 'x' } });
  expect(JSON.stringify(inputFrom(record))).toBe(JSON.stringify(inputFrom(record)));
});

test('who asks, for whom and from where goes with it; what people wrote stands as content', () => {
  const whole = { tenant: 'acme', principal: 'ada', labels: { team: 'red' }, key: 'k' };
  const { body } = inputOf({ ...echo, ...whole, priority: 'high', context: { a: 1 } });
  const { tenant, principal, labels } = whole;
  expect(body).toMatchObject({ source: 'intake', tenant, principal, labels });
  expect(body.atMs).toBe(1_700_000_000_000);
  expect(dataOf({ id: '', body })).toMatchObject({
    key: 'k',
    priority: 'high',
    lane: 'high',
    origin: { topic: 'longrein.goals', partition: 2, offset: 7 },
    receivedAtMs: 1_700_000_000_000,
  });
  expect(Object.keys(body.event.content ?? {})).toEqual(['goal', 'context']);
  expect(JSON.stringify(body.event.data)).not.toContain('Say it.');
});

test('what is not said has defaults', () => {
  const { body } = inputOf(echo);
  expect(body).toMatchObject({ tenant: 'default', principal: '', labels: {} });
  expect(dataOf({ id: '', body })).toMatchObject({
    priority: 'normal',
    lane: 'normal',
    source: '',
  });
});

describe('a goal that cannot be accepted', () => {
  test('has an id, a tenant and its bytes all the same, so that it is answered', () => {
    const bytes = '{"id":"g","tenant":"acme","priority":"urgent","goal":"x"}';
    const { body } = inputOf(bytes);
    expect(dataOf({ id: '', body })).toMatchObject({
      goalId: 'g',
      session: sessionId('acme', '', 'g'),
      problem: { code: 'GOAL_FIELD_INVALID', field: 'priority' },
    });
    const original = body.event.content?.['original']?.body;
    expect(Buffer.from(String(original), 'base64').toString()).toBe(bytes);
  });

  test('is taken by its place where nothing of it can be read', () => {
    expect(dataOf(inputOf('not json')).goalId).toBe('longrein.goals/2/7');
    expect(dataOf(inputOf(null)).goalId).toBe('longrein.goals/2/7');
    const strange = { id: 7, tenant: ['x'], goal: 1 };
    expect(dataOf(inputOf(strange)).goalId).toBe('longrein.goals/2/7');
    const long = { id: 'x'.repeat(129), goal: 'x' };
    expect(dataOf(inputOf(long)).goalId).toBe('longrein.goals/2/7');
  });
});

describe('a cancel', () => {
  const cancelOf = (value: JsonObject, headers: Record<string, string> = {}): GoalInput =>
    inputOf(value, { headers });

  test('by goal id finds the log of the goal, by its source and tenant', () => {
    const session = sessionId('acme', '/crm', 'g');
    const log = goalLogId(session);
    const named = cancelOf({ cancel: 'g', source: '/crm', tenant: 'acme', requestedBy: 'mary' });
    expect(named.body.session).toBe(log);
    expect(named.body).toMatchObject({ tenant: 'acme', principal: 'mary' });
    const byHeader = cancelOf({ cancel: 'g', tenant: 'acme' }, { ce_source: '/crm' });
    expect(byHeader.body.session).toBe(log);
    expect(cancelOf({ cancel: 'g' }).body.session).toBe(goalLogId(sessionId('default', '', 'g')));
  });

  test('by session id needs neither', () => {
    expect(cancelOf({ cancel: 'ses_x' }).body.session).toBe('goal_ses_x');
  });

  test('is another input than the goal, and one for each log', () => {
    const goal = inputOf({ ...echo, id: 'g' });
    const one = cancelOf({ cancel: 'g', reason: 'a' });
    expect(one.body.session).toBe(goal.body.session);
    expect(one.id).not.toBe(goal.id);
    expect(cancelOf({ cancel: 'g', reason: 'b' }).id).toBe(one.id);
  });
});

test('every input is an event that its schema accepts, whatever came', () => {
  const long = 'x'.repeat(600);
  const values: readonly (readonly [unknown, Record<string, string>])[] = [
    [echo, {}],
    [echo, { ce_id: long, ce_source: long }],
    [{ cancel: 'g' }, { ce_id: long, ce_source: long }],
    [{ cancel: 'g', reason: 'r', requestedBy: 'm' }, {}],
    [{ ...echo, [long]: 1 }, {}],
    [{ ...echo, inputs: { [long]: 1 } }, {}],
    [{ id: '', tenant: '', goal: '' }, {}],
    ['nonsense', { ce_id: '' }],
    [null, {}],
  ];
  for (const [value, headers] of values) {
    const { body } = inputOf(value, { headers });
    expect(problemOfEvent(body.event), JSON.stringify(value)?.slice(0, 80)).toBeUndefined();
  }
});
