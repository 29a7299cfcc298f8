import { expect, test } from 'vitest';
import * as ids from '../../../../../services/chassis/protocol/ids.ts';

/** What is written down here stands in logs: a change would give the same thing another id. */

test('ids are what they always were', () => {
  expect({
    session: ids.sessionId('acme', '/crm', 'goal-1'),
    goalLog: ids.goalLogId('ses_x'),
    keyLog: ids.keyLogId('acme', 'nightly'),
    input: ids.inputId('ses_x', ['goal']),
    outcome: ids.outcomeId('call_1', 'trn_1#0'),
    timer: ids.timerFiredId('trn_1', 2),
    call: ids.callId('ses_x', 'reader.1', 3),
    message: ids.messageId('ses_x', ['result']),
  }).toEqual({
    session: 'ses_a701f685cd4a521eefa596a70245ed3f',
    goalLog: 'goal_ses_x',
    keyLog: 'key_30bcf6a06271f7f32c287b9c694a0351',
    input: 'inp_3c33221035626b9344411e8d90ba938a',
    outcome: 'inp_3af15e8a64b59c058b28755941f3c2f6',
    timer: 'inp_90951d67413a7ec0eba6ae13f0240b4f',
    call: 'call_9945e61f22523044349aab046ffce348',
    message: 'msg_fa2bdc8bc1ae41e30e4a8f1a32ed8116',
  });
});

test('parts are told apart: where one ends and the next begins makes a difference', () => {
  expect(ids.sessionId('a', 'bc', 'd')).not.toBe(ids.sessionId('ab', 'c', 'd'));
  expect(ids.sessionId('a', '', 'b')).not.toBe(ids.sessionId('', 'a', 'b'));
  expect(ids.inputId('s', ['a,b'])).not.toBe(ids.inputId('s', ['a', 'b']));
  expect(ids.inputId('s', ['1'])).not.toBe(ids.inputId('s', [1]));
});

test('an outcome, a firing and an input of the same parts do not share an id', () => {
  expect(ids.outcomeId('a', 'b')).not.toBe(ids.inputId('a', ['b']));
  expect(ids.timerFiredId('a', 1)).not.toBe(ids.inputId('a', [1]));
});
