/** The life of one lease of a sandbox: lent to one claim of one call, then given back. */

import { setup } from 'xstate';
import type { SeenEvent } from '../../schemas/event.ts';
import { createFold, type Persisted } from '../fold.ts';

export type SandboxMachineEvent = { type: 'sandbox.released' };

export const sandboxMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as SandboxMachineEvent },
}).createMachine({
  id: 'sandbox',
  context: {},
  initial: 'leased',
  states: {
    leased: { on: { 'sandbox.released': 'released' } },
    released: { type: 'final' },
  },
});

export const sandboxFold = createFold<SandboxMachineEvent>(sandboxMachine);

/**
 * The lease after this event, which must name it; the same object when the event does not move it.
 */
export const foldSandbox = (state: Persisted, event: SeenEvent): Persisted =>
  event.type === 'sandbox.released' ? sandboxFold.next(state, { type: event.type }) : state;
