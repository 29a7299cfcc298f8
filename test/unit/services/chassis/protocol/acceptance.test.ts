import { describe, expect, test } from 'vitest';
import {
  type AcceptanceState,
  accept,
  copyAcceptance,
  nextEpochNumber,
} from '../../../../../services/chassis/protocol/acceptance.ts';
import type { RecordHeader } from '../../../../../services/chassis/protocol/record.ts';
import { cancel, checkpointBody, headerOf, skipped } from '../../../../support/placed-record.ts';
import {
  epochBody,
  inputBody,
  openingBody,
  turnBody,
} from '../../../../support/written-session.ts';

const epoch = (number: number, incarnation: string, services = ['supervisor']): RecordHeader =>
  headerOf(`epo_${number}`, epochBody({ number, incarnation, services }));

const turn = (
  place: readonly [epoch: number, incarnation: string, sequence: number],
  service = 'supervisor',
): RecordHeader => {
  const [number, incarnation, sequence] = place;
  const body = turnBody('ses_one', [skipped('a')], { service, epoch: number, incarnation });
  return headerOf('trn', body, sequence);
};

const owned = (number: number, incarnation: string): AcceptanceState => {
  const state: AcceptanceState = {};
  accept(state, epoch(number, incarnation));
  return state;
};

describe('an input', () => {
  const fired = (number: number, incarnation: string): RecordHeader =>
    headerOf('inp', {
      ...inputBody('ses_one', cancel()),
      ...{ source: 'supervisor', epoch: number, incarnation },
    });

  test('is accepted whoever writes it, also one that names its writer', () => {
    const outcome = { ...inputBody('ses_one', cancel()), incarnation: 'gone' };
    expect(accept({}, headerOf('inp', outcome))).toBe(true);
  });

  test('that names an epoch is accepted only as long as that is the current one', () => {
    const state = owned(3, 'one');
    expect(accept(state, fired(3, 'one'))).toBe(true);
    expect(accept(state, fired(3, 'two'))).toBe(false);
    expect(accept(state, fired(2, 'one'))).toBe(false);
    accept(state, epoch(4, 'two'));
    expect(accept(state, fired(3, 'one'))).toBe(false);
    expect(accept({}, fired(3, 'one'))).toBe(false);
  });

  test('uses up no number', () => {
    const state = owned(3, 'one');
    accept(state, fired(3, 'one'));
    expect(accept(state, turn([3, 'one', 1]))).toBe(true);
  });
});

describe('an epoch', () => {
  test('is accepted where its number is above the current one, and starts its numbers anew', () => {
    const state = owned(1, 'one');
    accept(state, turn([1, 'one', 1]));
    expect(accept(state, epoch(2, 'two'))).toBe(true);
    expect(state).toEqual({ supervisor: { number: 2, incarnation: 'two', sequence: 0 } });
  });

  test('is void where its number is equal or below, also from the owner itself', () => {
    const state = owned(2, 'two');
    accept(state, turn([2, 'two', 1]));
    const before = copyAcceptance(state);
    expect(accept(state, epoch(2, 'other'))).toBe(false);
    expect(accept(state, epoch(2, 'two'))).toBe(false);
    expect(accept(state, epoch(1, 'two'))).toBe(false);
    expect(state).toEqual(before);
  });

  test('takes over only the services whose number is lower', () => {
    const state: AcceptanceState = {};
    accept(state, epoch(5, 'one', ['planner']));
    accept(state, epoch(2, 'one', ['supervisor']));
    expect(accept(state, epoch(3, 'two', ['planner', 'supervisor', 'memory']))).toBe(true);
    expect(state['planner']?.incarnation).toBe('one');
    expect(state['supervisor']?.incarnation).toBe('two');
    expect(state['memory']).toEqual({ number: 3, incarnation: 'two', sequence: 0 });
  });

  test('asks for a number above all that was read, of whatever service', () => {
    expect(nextEpochNumber({})).toBe(1);
    const state = owned(4, 'one');
    accept(state, epoch(9, 'two', ['planner']));
    expect(nextEpochNumber(state)).toBe(10);
  });
});

describe('a turn or a checkpoint', () => {
  test('is accepted with the next number of the current epoch, both counted together', () => {
    const state = owned(1, 'one');
    const checkpoint = headerOf('ckp', checkpointBody({ incarnation: 'one' }), 2);
    expect(accept(state, turn([1, 'one', 1]))).toBe(true);
    expect(accept(state, checkpoint)).toBe(true);
    expect(accept(state, turn([1, 'one', 3]))).toBe(true);
  });

  test('is void with a number that leaves a gap, until the gap is filled', () => {
    const state = owned(1, 'one');
    expect(accept(state, turn([1, 'one', 2]))).toBe(false);
    expect(accept(state, turn([1, 'one', 1]))).toBe(true);
    expect(accept(state, turn([1, 'one', 2]))).toBe(true);
  });

  test('is void when its number was used before', () => {
    const state = owned(1, 'one');
    accept(state, turn([1, 'one', 1]));
    expect(accept(state, turn([1, 'one', 1]))).toBe(false);
  });

  test('is void before the first epoch and without a number', () => {
    expect(accept({}, turn([1, 'one', 1]))).toBe(false);
    const body = turnBody('ses_one', [skipped('a')], { incarnation: 'one' });
    expect(accept(owned(1, 'one'), headerOf('trn', body))).toBe(false);
  });

  test('of a zombie is void: an older epoch, a newer one that nobody read, another process', () => {
    const state = owned(2, 'two');
    expect(accept(state, turn([1, 'one', 1]))).toBe(false);
    expect(accept(state, turn([3, 'two', 1]))).toBe(false);
    expect(accept(state, turn([2, 'one', 1]))).toBe(false);
    expect(accept(state, turn([2, 'two', 1]))).toBe(true);
  });

  test('is counted for its own service alone', () => {
    const state: AcceptanceState = {};
    accept(state, epoch(1, 'one', ['planner', 'supervisor']));
    expect(accept(state, turn([1, 'one', 1], 'planner'))).toBe(true);
    expect(accept(state, turn([1, 'one', 1], 'supervisor'))).toBe(true);
    expect(accept(state, turn([1, 'one', 1], 'memory'))).toBe(false);
  });
});

test('an input is always accepted and changes nothing', () => {
  const state = owned(1, 'one');
  const before = copyAcceptance(state);
  expect(accept(state, headerOf('inp', openingBody('ses_one')))).toBe(true);
  expect(state).toEqual(before);
});

test('a copy of the state does not move with it', () => {
  const state = owned(1, 'one');
  const copy = copyAcceptance(state);
  accept(state, turn([1, 'one', 1]));
  expect(copy['supervisor']?.sequence).toBe(0);
});
