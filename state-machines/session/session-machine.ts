/**
 * The life of one session as its log tells it. Owns which step may follow which, so that of two
 * endings that race (completed, failed, cancelled) every reader takes the first and refuses the
 * other. A result counts only when it says the same as the ending that counted; one that the broker
 * will never take is replaced once.
 */

import { setup } from 'xstate';
import type { SeenEvent } from '../../schemas/event.ts';
import { createFold, type Persisted } from '../fold.ts';

export type SessionStatus = 'completed' | 'failed' | 'cancelled';

/** The events of the log that move a session, with the fields that the machine looks at. */
export type SessionMachineEvent =
  | { type: 'session.opened' }
  | { type: 'plan.proposed' }
  | { type: 'plan.accepted' }
  | { type: 'plan.rejected' }
  | { type: 'session.completed' }
  | { type: 'session.failed' }
  | { type: 'session.cancelled' }
  | { type: 'result.published'; status: SessionStatus }
  | { type: 'result.replaced' }
  | { type: 'session.closed' };

const stopped = { 'session.failed': 'failed', 'session.cancelled': 'cancelled' } as const;

export const sessionMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as SessionMachineEvent },
  guards: {
    saysCompleted: ({ event }) => 'status' in event && event.status === 'completed',
    saysFailed: ({ event }) => 'status' in event && event.status === 'failed',
    saysCancelled: ({ event }) => 'status' in event && event.status === 'cancelled',
  },
}).createMachine({
  id: 'session',
  context: {},
  initial: 'unopened',
  states: {
    unopened: { on: { 'session.opened': 'opened' } },
    opened: { on: { ...stopped, 'plan.proposed': 'planning', 'plan.rejected': 'rejected' } },
    planning: { on: { ...stopped, 'plan.accepted': 'running', 'plan.rejected': 'rejected' } },
    rejected: { on: { ...stopped, 'plan.proposed': 'planning' } },
    running: { on: { ...stopped, 'session.completed': 'completing' } },
    completing: { on: { 'result.published': { guard: 'saysCompleted', target: 'ended' } } },
    failed: { on: { 'result.published': { guard: 'saysFailed', target: 'ended' } } },
    cancelled: { on: { 'result.published': { guard: 'saysCancelled', target: 'ended' } } },
    ended: { on: { 'result.replaced': 'replaced', 'session.closed': 'closed' } },
    replaced: { on: { 'session.closed': 'closed' } },
    closed: { type: 'final' },
  },
});

export const sessionFold = createFold<SessionMachineEvent>(sessionMachine);

/** The session after this event; the same object when the event does not move it. */
export function foldSession(state: Persisted, event: SeenEvent): Persisted {
  switch (event.type) {
    case 'result.published':
      return sessionFold.next(state, { type: event.type, status: event.data.status });
    case 'session.opened':
    case 'plan.proposed':
    case 'plan.accepted':
    case 'plan.rejected':
    case 'session.completed':
    case 'session.failed':
    case 'session.cancelled':
    case 'result.replaced':
    case 'session.closed':
      return sessionFold.next(state, { type: event.type });
    default:
      return state;
  }
}

const overStates = new Set(['completing', 'failed', 'cancelled', 'ended', 'replaced', 'closed']);

/** Whether the ending of the session is decided: nothing new begins, what runs is stopped. */
export const sessionIsOver = (state: Persisted): boolean => overStates.has(state.value);

/** Whether the session waits only to be closed: its result, or what replaced it, was published. */
export const resultIsOut = ({ value }: Persisted): boolean =>
  value === 'ended' || value === 'replaced';
