import { expect, test } from 'vitest';
import { event } from '../../../../../schemas/event.ts';
import { ownHeader } from '../../../../../services/chassis/protocol/own-header.ts';
import {
  headersOf,
  parseHeader,
  type RecordBody,
} from '../../../../../services/chassis/protocol/record.ts';
import { checkpointBody, skipped } from '../../../../support/placed-record.ts';
import {
  epochBody,
  inputBody,
  openingBody,
  turnBody,
} from '../../../../support/written-session.ts';

const outcome = event('session.cancel-requested', { requestedBy: 'mary' });
const bodies: readonly RecordBody[] = [
  turnBody('ses_one', [skipped('a'), skipped('b')], { foreseen: ['trn_a', 'trn_b'], behaviour: 7 }),
  turnBody('ses_one', [skipped('a')], { baseOffset: 41, epoch: 12 }),
  turnBody('ses_one', []),
  openingBody('ses_two'),
  inputBody('ses_two', outcome, { foreseeable: true, incarnation: 'inc' }),
  inputBody('ses_two', outcome, { epoch: 3, incarnation: 'inc' }),
  inputBody('ses_two', outcome, { epoch: 3 }),
  checkpointBody({ fold: 4, cursor: { record: 'trn_9', offset: 9 } }),
  epochBody({ services: ['planner', 'supervisor'], number: 8 }),
  epochBody({ services: [] }),
];
const places = [
  { batch: 'trn_0', batchIndex: 2, traceparent: '00-aa-bb-01' },
  { batch: 'inp_0', batchIndex: 0, traceparent: '' },
  { batch: 'inp_0', batchIndex: 1, traceparent: '', codec: 'sealed' },
];

test('the header of a record of our own is the one that its headers are read as', () => {
  for (const body of bodies)
    for (const place of places)
      expect(ownHeader('id_1', body, place)).toEqual(parseHeader(headersOf('id_1', body, place)));
});

test('a time with parts of a millisecond is the one that stands in the headers', () => {
  const body = openingBody('ses_two', { atMs: 1_700_000_000_000.7 });
  const [, place] = places;
  expect(ownHeader('id', body, place as (typeof places)[0]).atMs).toBe(1_700_000_000_000);
});
