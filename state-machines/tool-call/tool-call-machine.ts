/**
 * The life of one tool call. The first outcome counts, whichever claim it came from. A call that
 * nobody saw end is unknown, never failed, and an outcome that arrives after all settles it late.
 */

import { assign, setup } from 'xstate';
import type { SeenEvent } from '../../schemas/event.ts';
import { createFold, type Persisted } from '../fold.ts';

export type ToolCallMachineEvent =
  | { type: 'tool.permitted' }
  | { type: 'tool.denied' }
  | { type: 'tool.claimed'; attempt: number }
  | { type: 'tool.completed' }
  | { type: 'tool.failed' }
  | { type: 'tool.unknown' }
  /** Its session, task or agent ended: it is not to begin, and should stop if it has begun. */
  | { type: 'call.cancelled' };

/** `attempt` counts claims. */
export type ToolCallMachineContext = { attempt: number; cancelled: boolean };

const claim = { guard: 'isNewer', target: 'claimed', actions: 'countClaim' } as const;
const cancel = { target: 'cancelled', actions: 'markCancelled' } as const;

export const toolCallMachine = setup({
  types: { context: {} as ToolCallMachineContext, events: {} as ToolCallMachineEvent },
  guards: {
    isNewer: ({ context, event }) =>
      event.type === 'tool.claimed' && event.attempt > context.attempt,
    isWanted: ({ context }) => !context.cancelled,
  },
  actions: {
    countClaim: assign(({ context, event }) => ({
      attempt: event.type === 'tool.claimed' ? event.attempt : context.attempt,
    })),
    markCancelled: assign({ cancelled: true }),
  },
}).createMachine({
  id: 'tool-call',
  context: { attempt: 0, cancelled: false },
  initial: 'requested',
  states: {
    requested: {
      on: { 'tool.permitted': 'permitted', 'tool.denied': 'denied', 'call.cancelled': cancel },
    },
    permitted: { on: { 'tool.claimed': claim, 'call.cancelled': cancel } },
    claimed: {
      on: {
        'tool.claimed': claim,
        'tool.completed': 'completed',
        'tool.failed': 'failed',
        'tool.unknown': 'unknown',
        'call.cancelled': { guard: 'isWanted', actions: 'markCancelled' },
      },
    },
    // A claim that was on its way when the cancel came stands in the log and has to end like any
    // other.
    cancelled: { on: { 'tool.claimed': claim } },
    unknown: { on: { 'tool.completed': 'settled-late', 'tool.failed': 'settled-late' } },
    denied: { type: 'final' },
    completed: { type: 'final' },
    failed: { type: 'final' },
    'settled-late': { type: 'final' },
  },
});

export const toolCallFold = createFold<ToolCallMachineEvent>(toolCallMachine);

/**
 * The call after this event, which must name it; the same object when the event does not move it.
 */
export function foldToolCall(state: Persisted, event: SeenEvent): Persisted {
  switch (event.type) {
    case 'tool.claimed':
      return toolCallFold.next(state, { type: event.type, attempt: event.data.attempt });
    case 'tool.permitted':
    case 'tool.denied':
    case 'tool.completed':
    case 'tool.failed':
    case 'tool.unknown':
      return toolCallFold.next(state, { type: event.type });
    default:
      return state;
  }
}

/** How often the call was claimed. */
export const claimsOf = (state: Persisted): number => Number(state.context.attempt ?? 0);
/** Whether the call is not wanted any more. */
export const isCancelled = (state: Persisted): boolean => state.context.cancelled === true;
