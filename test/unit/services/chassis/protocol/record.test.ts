import { describe, expect, test } from 'vitest';
import {
  headersOf,
  parseHeader,
  type RecordBody,
} from '../../../../../services/chassis/protocol/record.ts';
import { checkpointBody, skipped } from '../../../../support/placed-record.ts';
import { epochBody, openingBody, turnBody } from '../../../../support/written-session.ts';

const place = { batch: 'trn_0', batchIndex: 2, traceparent: '00-aa-bb-01' };
const headers = (body: RecordBody) => headersOf('id_1', body, place);

describe('headers', () => {
  test('are those of CloudEvents, with all that acceptance needs beside', () => {
    const body = turnBody('ses_one', [skipped('a'), skipped('b')], {
      foreseen: ['trn_a', 'trn_b'],
    });
    expect(headers(body)).toEqual({
      ce_specversion: '1.0',
      ce_id: 'id_1',
      ce_type: 'longrein.turn.v1',
      ce_source: '/services/supervisor',
      ce_subject: 'ses_one',
      ce_time: '2026-01-15T00:00:00.000Z',
      'content-type': 'application/json',
      traceparent: '00-aa-bb-01',
      lr_kind: 'turn',
      lr_batch: 'trn_0',
      lr_batch_index: '2',
      lr_service: 'supervisor',
      lr_epoch: '1',
      lr_incarnation: 'writer',
      lr_base: 'base',
      lr_base_offset: '0',
      lr_foreseen: 'trn_a,trn_b',
      lr_types: 'task.skipped,task.skipped',
      lr_behaviour: '3',
    });
  });

  test('have no number: that is given when the record is first sent', () => {
    const header = parseHeader(headers(turnBody('ses_one', [skipped('a')])));
    expect(header?.sequence).toBe(-1);
    const numbered = { ...headers(turnBody('ses_one', [])), lr_sequence: '7' };
    expect(parseHeader(numbered)?.sequence).toBe(7);
  });

  test('of an input, a checkpoint and an epoch say what these have', () => {
    expect(parseHeader(headers(openingBody('ses_one', { source: 'intake' })))).toMatchObject({
      kind: 'input',
      session: 'ses_one',
      service: 'intake',
      types: ['session.opened'],
      epoch: -1,
    });
    expect(parseHeader(headers(checkpointBody()))).toMatchObject({
      kind: 'checkpoint',
      epoch: 1,
      cursorOffset: 4,
      baseOffset: -1,
    });
    expect(parseHeader(headers(epochBody({ services: ['a', 'b'], number: 3 })))).toMatchObject({
      kind: 'epoch',
      session: '',
      service: '',
      services: ['a', 'b'],
      epoch: 3,
    });
  });

  test('without trace context carry none', () => {
    const bare = headersOf('id', openingBody('ses_one'), { ...place, traceparent: '' });
    expect('traceparent' in bare).toBe(false);
    expect(parseHeader(bare)?.traceparent).toBe('');
  });
});

describe('a record of another program', () => {
  test('has no kind, or one that we do not know', () => {
    expect(parseHeader({})).toBeUndefined();
    expect(parseHeader({ lr_kind: 'turnip' })).toBeUndefined();
  });

  test('is also one whose headers look like ours and cannot be read, for every reader alike', () => {
    const good = headers(turnBody('ses_one', [skipped('a')]));
    for (const wrong of ['x', '1.5', '1e400', ''])
      expect(parseHeader({ ...good, lr_epoch: wrong }), wrong).toBeUndefined();
  });
});
