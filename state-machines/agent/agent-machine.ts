/**
 * The life of one agent: one attempt at one task. Owns what the agent waits for, so that an answer
 * counts once and only while it is awaited; a late or repeated one is refused. An agent runs again
 * when nothing is awaited. Before it begins it may ask whether the servers of its tools are well.
 */

import { assign, setup } from 'xstate';
import type { SeenEvent } from '../../schemas/event.ts';
import { createFold, type Persisted } from '../fold.ts';

/** `id` is that of a call, of a timer or of a question: what is awaited. */
export type AgentMachineEvent =
  | { type: 'agent.provisioned' }
  | { type: 'agent.started' }
  | { type: 'agent.completed' }
  | { type: 'agent.failed' }
  | { type: 'agent.cancelled' }
  | { type: 'agent.cleaned-up' }
  | { type: 'tool.requested'; id: string }
  | { type: 'model.requested'; id: string }
  | { type: 'timer.set'; id: string }
  | { type: 'person.asked'; id: string }
  | { type: 'person.settled'; id: string }
  | { type: 'tool.completed'; id: string }
  | { type: 'tool.failed'; id: string }
  | { type: 'tool.denied'; id: string }
  | { type: 'tool.unknown'; id: string }
  | { type: 'model.completed'; id: string }
  | { type: 'model.failed'; id: string }
  | { type: 'model.denied'; id: string }
  | { type: 'timer.fired'; id: string };

export type AgentMachineContext = { awaited: readonly string[] };

const idOf = (event: AgentMachineEvent): string => ('id' in event ? event.id : '');

const ask = { guard: 'isNew', target: 'waiting', actions: 'noteAsked' } as const;
const asks = {
  'tool.requested': ask,
  'model.requested': ask,
  'timer.set': ask,
  'person.asked': ask,
} as const;
const answer = [
  { guard: 'isLast', target: 'running', actions: 'settle' },
  { guard: 'isAwaited', actions: 'settle' },
] as const;
const answers = {
  'tool.completed': answer,
  'tool.failed': answer,
  'tool.denied': answer,
  'tool.unknown': answer,
  'model.completed': answer,
  'model.failed': answer,
  'model.denied': answer,
  'timer.fired': answer,
  'person.settled': answer,
} as const;
const check = { ...ask, target: 'provisioning' } as const;
const told = [
  { guard: 'isLast', target: 'checked', actions: 'settle' },
  { guard: 'isAwaited', actions: 'settle' },
] as const;
const checked = {
  'tool.completed': told,
  'tool.failed': told,
  'tool.denied': told,
  'tool.unknown': told,
} as const;
const broken = { 'agent.failed': 'failed', 'agent.cancelled': 'cancelled' } as const;
const over = { on: { 'agent.cleaned-up': 'cleaned-up' } } as const;

export const agentMachine = setup({
  types: { context: {} as AgentMachineContext, events: {} as AgentMachineEvent },
  guards: {
    isNew: ({ context, event }) => !context.awaited.includes(idOf(event)),
    isAwaited: ({ context, event }) => context.awaited.includes(idOf(event)),
    isLast: ({ context, event }) =>
      context.awaited.length === 1 && context.awaited.includes(idOf(event)),
  },
  actions: {
    noteAsked: assign(({ context, event }) => ({ awaited: [...context.awaited, idOf(event)] })),
    settle: assign(({ context, event }) => ({
      awaited: context.awaited.filter((id) => id !== idOf(event)),
    })),
  },
}).createMachine({
  id: 'agent',
  context: { awaited: [] },
  initial: 'created',
  states: {
    created: { on: { ...broken, 'tool.requested': check, 'agent.provisioned': 'provisioned' } },
    // Its servers are asked, each by a call.
    provisioning: { on: { ...broken, 'tool.requested': check, ...checked } },
    checked: { on: { ...broken, 'agent.provisioned': 'provisioned' } },
    provisioned: { on: { ...broken, 'agent.started': 'running' } },
    running: { on: { ...broken, ...asks, 'agent.completed': 'completed' } },
    // Its time can be over while it waits.
    waiting: { on: { ...broken, ...asks, ...answers } },
    completed: over,
    failed: over,
    cancelled: over,
    'cleaned-up': { type: 'final' },
  },
});

export const agentFold = createFold<AgentMachineEvent>(agentMachine);

/**
 * The machine's event for an event of the log, which must be about this agent; none if it does not
 * move agents.
 */
function agentEventOf(event: SeenEvent): AgentMachineEvent | undefined {
  switch (event.type) {
    case 'agent.provisioned':
    case 'agent.started':
    case 'agent.completed':
    case 'agent.failed':
    case 'agent.cancelled':
    case 'agent.cleaned-up':
      return { type: event.type };
    case 'person.asked':
    case 'person.settled':
      return { type: event.type, id: event.data.question };
    case 'task.delegated':
      // For whoever waits for it, it is a call like others; who hands its task on waits for nothing.
      if (event.data.kind === 'handoff') return undefined;
      return { type: 'tool.requested', id: event.data.call };
    case 'delegation.settled':
      return { type: 'tool.completed', id: event.data.call };
    case 'timer.set':
    case 'timer.fired':
      return { type: event.type, id: event.data.timer };
    case 'tool.requested':
    case 'model.requested':
    case 'tool.completed':
    case 'tool.failed':
    case 'tool.denied':
    case 'tool.unknown':
    case 'model.completed':
    case 'model.failed':
    case 'model.denied':
      return { type: event.type, id: event.data.call };
    default:
      return undefined;
  }
}

/** The agent after this event; the same object when the event does not move it. */
export function foldAgent(state: Persisted, event: SeenEvent): Persisted {
  const move = agentEventOf(event);
  return move === undefined ? state : agentFold.next(state, move);
}
