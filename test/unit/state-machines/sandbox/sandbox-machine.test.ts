import { expect, test } from 'vitest';
import { sandboxFold } from '../../../../state-machines/sandbox/sandbox-machine.ts';

test('a lease is given back once', () => {
  const leased = sandboxFold.initial();
  expect(leased).toMatchObject({ value: 'leased', done: false });
  const released = sandboxFold.next(leased, { type: 'sandbox.released' });
  expect(released).toMatchObject({ value: 'released', done: true });
  expect(sandboxFold.next(released, { type: 'sandbox.released' })).toBe(released);
});
