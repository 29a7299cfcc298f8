import { expect, test } from 'vitest';
import { event } from '../../../../schemas/event.ts';
import { keyLogId } from '../../../../services/chassis/protocol/ids.ts';
import { intakeLogic } from '../../../../services/intake/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';

/** A key is decided about from what was read; what comes meanwhile stands in the log before the decision. */

const goal = (name: string) => event('key.requested', { goalLog: name, session: `ses_${name}` });

test('a goal that gives the key back while it is given to it does not keep it', () => {
  const key = new BenchSession([{ logic: intakeLogic }], { session: keyLogId('default', 'red') });
  key.input(goal('g1'));
  const assigned = key.propose('intake');
  expect(assigned).toEqual([event('key.assigned', { goalLog: 'g1', waiting: 0 })]);
  key.input(event('key.released', { goalLog: 'g1' }));
  key.append(assigned, 'intake');
  key.input(goal('g2'));
  expect(key.propose('intake')).toEqual([
    event('key.freed', { goalLog: 'g1' }),
    event('key.assigned', { goalLog: 'g2', waiting: 0 }),
  ]);
});

test('a goal that waits and goes away costs the one that holds the key nothing', () => {
  const key = new BenchSession([{ logic: intakeLogic }], { session: keyLogId('default', 'red') });
  key.input(goal('g1'));
  key.append(key.propose('intake'), 'intake');
  key.input(goal('g2'));
  key.input(event('key.released', { goalLog: 'g2' }));
  key.append(key.propose('intake'), 'intake');
  expect(key.state('intake')).toMatchObject({ holder: 'g1', queue: [], released: [] });
});
