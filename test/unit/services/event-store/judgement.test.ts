import { describe, expect, test } from 'vitest';
import { event, json, text } from '../../../../schemas/event.ts';
import { deadLettersTopic, goalsTopic, resultsTopic } from '../../../../schemas/topics.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import type { LogRecord, OutgoingRecord } from '../../../../services/chassis/log/port.ts';
import { canonical } from '../../../../services/chassis/protocol/hash.ts';
import type { CheckpointBody } from '../../../../services/chassis/protocol/record.ts';
import { encodeRow } from '../../../../services/event-store/columns.ts';
import { decodeRecord } from '../../../../services/event-store/decoded-record.ts';
import type { Judgement } from '../../../../services/event-store/judged-record.ts';
import { countRows, rowsOf } from '../../../../services/event-store/judgement.ts';
import type { EventRow } from '../../../../services/event-store/row.ts';
import {
  epochBody,
  inputBody,
  openingBody,
  recordOf,
  turnBody,
} from '../../../support/written-session.ts';

const codec = createFixedCodec();
const counts: Judgement = { kind: 'session', effectiveEvents: 1, session: undefined };

const placed = (record: OutgoingRecord, topic = 'longrein.sessions.normal'): LogRecord => ({
  ...record,
  topic,
  partition: 3,
  offset: 7,
  timestampMs: Date.UTC(2026, 1, 1),
});

/** The rows as they would be stored: every one must fit its columns. */
function rows(log: LogRecord, judgement: Judgement = counts): readonly EventRow[] {
  const decoded = decodeRecord(log);
  const made = rowsOf({ log, header: decoded.header, judgement });
  for (const row of made) encodeRow(row);
  expect(made).toHaveLength(countRows(decoded, judgement));
  return made;
}

describe('records of session logs', () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

  test('a turn is a row for each event; the first one carries the record', () => {
    const requested = event(
      'model.requested',
      {
        ...{
          call: 'call-1',
          agent: 'agt-1',
          task: 'plan',
          attempt: 1,
          step: 2,
          agentName: 'writer',
        },
        ...{ model: 'openai/gpt-x', outputTokensMax: 10, timeoutMs: 9, tools: [] },
      },
      { messages: json([{ role: 'user', text: 'hi' }]) },
    );
    const scheduled = event(
      'task.scheduled',
      { task: 't2', attempt: 1, pool: 'pool-a', agent: 'reader', priority: 1, deadlineAtMs: 5 },
      { input: text('in') },
    );
    const body = turnBody('ses_a', [requested, scheduled]);
    const log = placed(recordOf('trn_1', body, codec, { sequence: 4, traceparent }));
    const [first, second] = rows(log, { ...counts, effectiveEvents: 1 });
    expect(first).toMatchObject({
      ...{ tenantId: 'acme', sessionId: 'ses_a', principal: 'mary', labels: { team: 'red' } },
      ...{ topic: 'longrein.sessions.normal', partition: 3, offset: 7, index: 0 },
      ...{ recordId: 'trn_1', kind: 'turn', effective: true, service: 'supervisor' },
      ...{ epoch: 1, incarnation: 'writer', sequence: 4, base: 'base', causes: ['cause#1'] },
      ...{ behaviour: 3, release: '0.0.0-test', type: 'model.requested', schemaVersion: 1 },
      ...{ agentId: 'agt-1', agentType: 'writer', taskId: 'plan', callId: 'call-1' },
      ...{ provider: 'openai', model: 'gpt-x', atMs: body.atMs },
      ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
    });
    expect(JSON.parse(first?.record ?? '')).toEqual({ headers: log.headers, body });
    expect(first?.data).toBe(canonical(body.events[0]?.data));
    expect(first?.content).toBe(canonical(body.events[0]?.content));
    expect(second).toMatchObject({
      ...{ index: 1, effective: false, type: 'task.scheduled', record: '' },
      ...{ agentId: '', agentType: 'reader', taskId: 't2', pool: 'pool-a' },
    });
  });

  test('an outcome carries tokens, money and time of its call', () => {
    const completed = event(
      'model.completed',
      {
        ...{ call: 'c', claim: 'x#0', attempt: 1, provider: 'openai', model: 'gpt-x' },
        ...{ finishReason: 'stop', inputTokens: 10, outputTokens: 20, cacheReadTokens: 3 },
        ...{ cacheWriteTokens: 4, reasoningTokens: 5, costNanoUsd: 123_456, costKnown: true },
        ...{ priceVersion: 'p1', durationMs: 12, toolCalls: 0 },
      },
      { message: text('done') },
    );
    const [row] = rows(placed(recordOf('inp_1', inputBody('ses_a', completed), codec)));
    expect(row).toMatchObject({
      ...{ kind: 'input', service: 'outside', provider: 'openai', model: 'gpt-x' },
      ...{ tokensIn: 10, tokensOut: 20, tokensCacheRead: 3, tokensCacheWrite: 4 },
      ...{ tokensReasoning: 5, costNanoUsd: 123_456, priceVersion: 'p1', durationUs: 12_000 },
    });
  });

  test('sums that an event repeats from others stay out of the columns that are summed', () => {
    const totals = { inputTokens: 10, outputTokens: 20, costNanoUsd: 30 };
    const calls = { steps: 1, modelCalls: 1, toolCalls: 0 };
    const body = turnBody('ses_a', [
      event('agent.completed', { agent: 'agt-1', ...calls, ...totals }),
    ]);
    const [row] = rows(placed(recordOf('trn_1', body, codec, { sequence: 1 })));
    expect(row).toMatchObject({ agentId: 'agt-1', tokensIn: 0, tokensOut: 0, costNanoUsd: 0 });
  });

  test('a blob stays a name', () => {
    const opening = openingBody('ses_a');
    const goal = { digest: 'd', mediaType: 'text/plain', bytes: 99_999, blob: 'd' };
    const body = { ...opening, event: { ...opening.event, content: { goal } } };
    const [row] = rows(placed(recordOf('inp_1', body, codec)));
    expect(JSON.parse(row?.content ?? '')).toEqual({ goal });
  });

  test('an epoch and a checkpoint are one row each', () => {
    const [epoch] = rows(placed(recordOf('epo_1', epochBody({ services: ['a', 'b'] }), codec)));
    expect(epoch).toMatchObject({ kind: 'epoch', type: 'epoch', service: 'a,b', epoch: 1 });
    const body: CheckpointBody = {
      kind: 'checkpoint',
      session: 'ses_a',
      service: 'planner',
      epoch: 2,
      incarnation: 'i',
      cursor: { record: 'r', offset: 5 },
      fold: 1,
      machines: {},
      stateHash: 'h',
      state: { digest: 'd', mediaType: 'application/json', bytes: 2, body: {} },
      atMs: 5,
      release: 'x',
    };
    const session = { session: 'ses_a', tenant: 'acme', principal: 'mary', labels: {} };
    const log = placed(recordOf('chk_1', body, codec, { sequence: 3 }));
    const [checkpoint] = rows(log, { ...counts, session });
    expect(checkpoint).toMatchObject({
      ...{ kind: 'checkpoint', type: 'checkpoint', tenantId: 'acme', principal: 'mary' },
      ...{ service: 'planner', epoch: 2, sequence: 3, base: 'r' },
    });
  });
});

describe('records that nobody here wrote, or nobody can read', () => {
  const turn = recordOf(
    'trn_1',
    turnBody('ses_a', [event('agent.started', { agent: 'a' })]),
    codec,
  );

  test.each([
    ['bytes that are not JSON', Buffer.from([0, 0, 0, 0, 1, 123])],
    ['no value', null],
    ['a body of another kind', codec.encode('input', openingBody('ses_a'))],
    ['a turn without events', codec.encode('turn', { ...turnBody('ses_a', []) })],
    ['a turn whose events are none', codec.encode('turn', { kind: 'turn', events: [1] })],
  ])('a record of ours with %s is one unreadable row', (_, value) => {
    const [row] = rows(placed({ ...turn, value }));
    expect(row).toMatchObject({
      ...{ kind: 'foreign', status: 'unreadable', effective: false },
      ...{ recordId: 'trn_1', sessionId: 'ses_a', offset: 7, index: 0 },
    });
    expect(JSON.parse(row?.record ?? '')).toMatchObject({ headers: turn.headers });
  });

  test('bytes are kept', () => {
    const value = Buffer.from([1, 2, 255]);
    const [row] = rows(placed({ ...turn, value }));
    const { bytes } = JSON.parse(row?.record ?? '') as { bytes: string };
    expect(Buffer.from(bytes, 'base64')).toEqual(value);
  });

  test('a value that is nested too deep is kept as bytes', () => {
    const deep = `{"kind":"turn","events":[{"type":"x","version":1,"data":{"a":${'['.repeat(90_000)}${']'.repeat(90_000)}}}]}`;
    const [row] = rows(placed({ ...turn, value: Buffer.from(deep) }));
    expect(row).toMatchObject({ kind: 'foreign', status: 'unreadable' });
  });

  test('a record of another program is a foreign row with its own type and time', () => {
    const headers = { ce_id: 'x', ce_type: 'other.v1', ce_time: '2026-03-04T05:06:07Z' };
    const log = placed({ key: 'k', headers, value: Buffer.from('{"a":1}') });
    const [row] = rows(log, { ...counts, kind: 'foreign', effectiveEvents: 0 });
    expect(row).toMatchObject({
      ...{ kind: 'foreign', type: 'other.v1', status: '', recordId: 'x', effective: false },
      atMs: Date.UTC(2026, 2, 4, 5, 6, 7),
    });
    expect(JSON.parse(row?.record ?? '')).toEqual({ headers, key: 'k', body: { a: 1 } });
  });

  test.each(['', 'gibberish', '9999-01-01T00:00:00Z', '0001-01-01T00:00:00Z'])(
    'a time that the table cannot hold (%s) does no harm',
    (time) => {
      rows(placed({ ...turn, headers: { ...turn.headers, ce_time: time } }));
    },
  );

  test('numbers that columns cannot hold do no harm', () => {
    const data = {
      call: 7,
      inputTokens: 1e300,
      outputTokens: -5,
      costNanoUsd: 0.5,
      durationMs: {},
    };
    const input = { ...openingBody('ses_a'), event: { type: 'model.failed', version: 1e9, data } };
    const [row] = rows(
      placed({
        ...turn,
        headers: { ...turn.headers, lr_kind: 'input' },
        value: codec.encode('input', input),
      }),
    );
    expect(row).toMatchObject({ callId: '', tokensIn: 2 ** 32 - 1, tokensOut: 0, costNanoUsd: 0 });
  });
});

describe('records of public topics', () => {
  const publicly: Judgement = { ...counts, kind: 'public' };
  const plain = (value: object, headers: Record<string, string> = {}): OutgoingRecord => ({
    key: 'k',
    headers,
    value: Buffer.from(JSON.stringify(value)),
  });

  test('a goal in plain JSON; what was asked is content', () => {
    const goal = { id: 'g1', goal: 'secret plans', tenant: 'acme', labels: { a: 'b' }, plan: 'p' };
    const [row] = rows(placed(plain(goal), goalsTopic), publicly);
    expect(row).toMatchObject({
      ...{ kind: 'public', effective: true, type: 'goal', index: 0, recordId: 'g1' },
      ...{ tenantId: 'acme', labels: { a: 'b' }, data: '{"id":"g1","plan":"p"}' },
      atMs: Date.UTC(2026, 1, 1),
    });
    const { body } = JSON.parse(row?.content ?? '') as { body: { body: unknown; digest: string } };
    expect(body.body).toEqual(goal);
    expect(body.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  test('a result with framing and headers', () => {
    const result = {
      goalId: 'g1',
      session: 'ses_a',
      status: 'failed',
      error: { code: 'E', message: 'm' },
    };
    const headers = { ce_id: 'msg_1', ce_type: 'longrein.result.v1' };
    const record = { key: 'k', headers, value: codec.encode('result', result) };
    const [row] = rows(placed(record, resultsTopic), publicly);
    expect(row).toMatchObject({
      ...{ type: 'longrein.result.v1', recordId: 'msg_1', sessionId: 'ses_a' },
      ...{ status: 'failed', errorCode: 'E' },
    });
  });

  test('a dead letter', () => {
    const letter = { reason: { code: 'R', message: 'm' }, origin: {}, at: 'x' };
    const [row] = rows(placed(plain(letter), deadLettersTopic), publicly);
    expect(row).toMatchObject({ kind: 'public', type: 'dead-letter', errorCode: 'R' });
  });

  test('what is not JSON is a row all the same', () => {
    const record = { key: 'k', headers: {}, value: Buffer.from('not json') };
    const [row] = rows(placed(record, goalsTopic), publicly);
    expect(row).toMatchObject({ kind: 'public', type: 'goal', status: 'unreadable' });
  });
});
