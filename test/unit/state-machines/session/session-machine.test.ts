import { describe, expect, it } from 'vitest';
import { getAdjacencyMap } from 'xstate/graph';
import { event, type SeenEvent } from '../../../../schemas/event.ts';
import type { Persisted } from '../../../../state-machines/fold.ts';
import {
  foldSession,
  type SessionMachineEvent,
  sessionFold,
  sessionIsOver,
  sessionMachine,
} from '../../../../state-machines/session/session-machine.ts';

const steps: readonly SessionMachineEvent[] = [
  { type: 'session.opened' },
  { type: 'plan.proposed' },
  { type: 'plan.accepted' },
  { type: 'plan.rejected' },
  { type: 'session.completed' },
  { type: 'session.failed' },
  { type: 'session.cancelled' },
  { type: 'result.published', status: 'completed' },
  { type: 'result.published', status: 'failed' },
  { type: 'result.published', status: 'cancelled' },
  { type: 'result.replaced' },
  { type: 'session.closed' },
];

const named = (step: SessionMachineEvent): string =>
  'status' in step ? `result ${step.status}` : step.type;

/** Every legal step of every state; all others must be refused. */
const legal: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  unopened: { 'session.opened': 'opened' },
  opened: {
    'plan.proposed': 'planning',
    'plan.rejected': 'rejected',
    'session.failed': 'failed',
    'session.cancelled': 'cancelled',
  },
  planning: {
    'plan.accepted': 'running',
    'plan.rejected': 'rejected',
    'session.failed': 'failed',
    'session.cancelled': 'cancelled',
  },
  rejected: {
    'plan.proposed': 'planning',
    'session.failed': 'failed',
    'session.cancelled': 'cancelled',
  },
  running: {
    'session.completed': 'completing',
    'session.failed': 'failed',
    'session.cancelled': 'cancelled',
  },
  completing: { 'result completed': 'ended' },
  failed: { 'result failed': 'ended' },
  cancelled: { 'result cancelled': 'ended' },
  ended: { 'result.replaced': 'replaced', 'session.closed': 'closed' },
  replaced: { 'session.closed': 'closed' },
  closed: {},
};

/** All states that can be reached, by name. */
function reachable(): ReadonlyMap<string, Persisted> {
  const found = new Map([[sessionFold.initial().value, sessionFold.initial()]]);
  for (const state of found.values()) {
    for (const step of steps) {
      const next = sessionFold.next(state, step);
      if (!found.has(next.value)) found.set(next.value, next);
    }
  }
  return found;
}

describe('the session machine', () => {
  it('reaches exactly the states that the table lists', () => {
    expect([...reachable().keys()].sort()).toEqual(Object.keys(legal).sort());
    const walked = Object.values(getAdjacencyMap(sessionMachine, { events: [...steps] }));
    const values = new Set(walked.map(({ state }) => String(state.value)));
    expect([...values].sort()).toEqual(Object.keys(legal).sort());
  });

  it('takes every legal step and refuses every other with the same object', () => {
    for (const [value, state] of reachable()) {
      for (const step of steps) {
        const target = legal[value]?.[named(step)];
        const next = sessionFold.next(state, step);
        expect(sessionFold.can(state, step), `${value} ${named(step)}`).toBe(target !== undefined);
        if (target === undefined) expect(next, `${value} ${named(step)}`).toBe(state);
        else expect(next.value).toBe(target);
      }
    }
  });

  it('leaves every state but the final one by some step', () => {
    for (const [value, state] of reachable()) {
      const leaves = steps.some((step) => sessionFold.can(state, step));
      expect(leaves, value).toBe(!state.done);
    }
  });

  it('goes on from a stored state as from a live one', () => {
    for (const state of reachable().values()) {
      const stored = JSON.parse(JSON.stringify(state)) as Persisted;
      for (const step of steps) {
        expect(sessionFold.next(stored, step)).toEqual(sessionFold.next(state, step));
      }
    }
  });

  it('says that a session is over from its ending on', () => {
    const over = [...reachable()].filter(([, state]) => sessionIsOver(state));
    const expected = ['cancelled', 'closed', 'completing', 'ended', 'failed', 'replaced'];
    expect(over.map(([value]) => value).sort()).toEqual(expected);
  });

  it('is not moved by events of other things', () => {
    const seen = event('timer.cancelled', { timer: 't' }) as unknown as SeenEvent;
    expect(foldSession(sessionFold.initial(), seen)).toBe(sessionFold.initial());
  });
});
