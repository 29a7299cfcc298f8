import { expect, test } from 'vitest';
import { type Draft, event, json, text } from '../../../../schemas/event.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import type { RecordBody } from '../../../../services/chassis/protocol/record.ts';
import { decodeRecord } from '../../../../services/event-store/decoded-record.ts';
import { rowsOf } from '../../../../services/event-store/judgement.ts';
import { SessionFold } from '../../../../services/event-store/partition-fold.ts';
import type { EventRow } from '../../../../services/event-store/row.ts';
import { SessionContext } from '../../../../services/event-store/session-context.ts';
import {
  epochBody,
  inputBody,
  openingBody,
  recordOf,
  turnBody,
} from '../../../support/written-session.ts';

/** What an answer's row knows of its request. */

const codec = createFixedCodec();
const session = 'ses_a';
const askedAtMs = Date.UTC(2026, 0, 15, 10);

/** One record after another through the fold of one partition. */
function rows(bodies: readonly RecordBody[]): readonly EventRow[] {
  const name = { topic: 'longrein.sessions.normal', partition: 0 };
  const fold = new SessionFold(name, { acceptance: {}, closed: [] });
  return bodies.flatMap((body, offset) => {
    const turns = bodies.slice(0, offset + 1).filter(({ kind }) => kind === 'turn').length;
    const place = body.kind === 'turn' ? { sequence: turns } : {};
    const record = recordOf(`rec_${offset}`, body, codec, place);
    const log = { ...record, ...name, offset, timestampMs: 0 };
    const decoded = decodeRecord(log);
    return rowsOf({ log, header: decoded.header, judgement: fold.judge(decoded) });
  });
}

const scheduled = event(
  'task.scheduled',
  { task: 't', attempt: 2, pool: 'research', agent: 'writer', priority: 1, deadlineAtMs: 5 },
  { input: text('in') },
);
const created = event('agent.created', {
  ...{ agent: 'agt', task: 't', attempt: 2, name: 'writer', version: '1', kind: 'model' },
  pool: 'research',
} as const);
const asked = { agent: 'agt', task: 't', attempt: 2, step: 3, agentName: 'writer' } as const;
const requested = event(
  'tool.requested',
  { call: 'c', ...asked, tool: 'fs.read' },
  { arguments: json({}) },
);
const permitted = event('tool.permitted', {
  ...{ call: 'c', tool: 'fs.read', toolVersion: '1.2.0', toolDigest: 'd', runner: 'r' },
  ...{ effect: 'read-only', risk: 'Low', argumentsDigest: 'a', timeoutMs: 9 },
} as never);
const claimed = event('tool.claimed', { call: 'c', tool: 'fs.read', attempt: 1, deadlineAtMs: 9 });
const completed = (claim: string): Draft<'tool.completed'> =>
  event(
    'tool.completed',
    { call: 'c', claim, attempt: 1, tool: 'fs.read', durationMs: 3 },
    { result: text('r') },
  );

test('the row of an answer says who asked, under which task, since when, and who ran it', () => {
  const head = { release: '0.2.0', atMs: askedAtMs };
  const all = rows([
    epochBody(),
    openingBody(session),
    turnBody(session, [scheduled, created, requested], { atMs: askedAtMs }),
    turnBody(session, [permitted, claimed], head),
    inputBody(session, completed('rec_3#1')),
    // The same answer once more: nobody waits for it.
    inputBody(session, completed('rec_3#1')),
  ]);
  const answers = all.filter(({ type }) => type === 'tool.completed');
  expect(answers.map(({ effective }) => effective)).toEqual([true, false]);
  for (const answer of answers)
    expect(answer).toMatchObject({
      ...{ taskId: 't', taskAttempt: 2, agentId: 'agt', agentType: 'writer', pool: 'research' },
      ...{ step: 3, attempt: 1, toolVersion: '1.2.0', release: '0.2.0', requestedAtMs: askedAtMs },
    });
});

test('in a fork the answer of a call that was under way says who asked for it', () => {
  const call = { was: 'old', call: 'c', agent: 'agt', agentName: 'writer', task: 't', attempt: 2 };
  const forked = event('session.forked', {
    ...{
      of: 'ses_b',
      goalId: 'g',
      lane: 'normal',
      topic: 'longrein.sessions.normal',
      partition: 0,
    },
    ...{ from: 0, to: 9, last: 'trn_9', at: '10.0', acceptance: {}, shiftMs: 5, timers: [] },
    ...{ calls: [{ ...call, pool: 'research', tool: 'fs.read' }], changes: [] },
  });
  const all = rows([
    epochBody(),
    inputBody(session, forked),
    turnBody(session, [permitted, claimed]),
    inputBody(session, completed('rec_2#1')),
  ]);
  expect(all.at(-1)).toMatchObject({
    ...{ effective: true, taskId: 't', agentId: 'agt', agentType: 'writer', pool: 'research' },
  });
});

test('what does not count says nothing', () => {
  const all = rows([
    epochBody(),
    openingBody(session),
    // Of an owner that was overtaken: void.
    turnBody(session, [scheduled, created, requested], { epoch: 7 }),
    inputBody(session, completed('rec_2#1')),
  ]);
  expect(all.at(-1)).toMatchObject({ effective: false, taskId: '', agentType: '', step: 0 });
});

test('of a very long session the newest calls are remembered', () => {
  const context = new SessionContext();
  const source = { type: 'tool.requested', release: '', atMs: 1 };
  for (let call = 0; call < 10_001; call += 1)
    context.take({ ...source, data: { ...requested.data, call: `c${call}` } });
  expect(context.of({ type: '', data: { call: 'c0' } })).toBeUndefined();
  expect(context.of({ type: '', data: { call: 'c10000' } })).toMatchObject({ step: 3 });
});
