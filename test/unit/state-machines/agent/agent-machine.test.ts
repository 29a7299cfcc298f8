import { describe, expect, test } from 'vitest';
import {
  type AgentMachineEvent,
  agentFold,
} from '../../../../state-machines/agent/agent-machine.ts';
import type { Persisted } from '../../../../state-machines/fold.ts';

const plain = (type: AgentMachineEvent['type'], id = 'a'): AgentMachineEvent =>
  ({ type, id }) as AgentMachineEvent;

const requests = ['tool.requested', 'model.requested', 'timer.set'] as const;
const answers = [
  'tool.completed',
  'tool.failed',
  'tool.denied',
  'tool.unknown',
  'model.completed',
  'model.failed',
  'model.denied',
  'timer.fired',
] as const;
const lifecycle = [
  'agent.provisioned',
  'agent.started',
  'agent.completed',
  'agent.failed',
  'agent.cancelled',
  'agent.cleaned-up',
] as const;

/** All states that can be reached with two things to wait for. */
function walk(): Map<string, Persisted> {
  const all: AgentMachineEvent[] = [
    ...lifecycle.map((type) => plain(type)),
    ...[...requests, ...answers].flatMap((type) => [plain(type, 'a'), plain(type, 'b')]),
  ];
  const keyOf = (state: Persisted): string => JSON.stringify([state.value, state.context]);
  const seen = new Map<string, Persisted>();
  const waiting = [agentFold.initial()];
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    if (seen.has(keyOf(state))) continue;
    seen.set(keyOf(state), state);
    for (const event of all) waiting.push(agentFold.next(state, event));
  }
  return seen;
}

function from(events: readonly AgentMachineEvent[]): Persisted {
  return events.reduce((state, event) => agentFold.next(state, event), agentFold.initial());
}

const running = [plain('agent.provisioned'), plain('agent.started')];

describe('the agent machine', () => {
  test('reaches exactly the states of its life', () => {
    const values = new Set([...walk().values()].map((state) => state.value));
    expect([...values].sort()).toEqual(
      [
        ...['cancelled', 'cleaned-up', 'completed', 'created', 'failed'],
        ...['provisioning', 'checked', 'provisioned', 'running', 'waiting'],
      ].sort(),
    );
  });

  test('waits exactly while something is awaited', () => {
    for (const { value, context } of walk().values()) {
      const awaited = context.awaited as string[];
      if (value === 'waiting') expect(awaited.length).toBeGreaterThan(0);
      if (value === 'running' || value === 'completed') expect(awaited).toEqual([]);
      expect(new Set(awaited).size).toBe(awaited.length);
    }
  });

  test('comes to an end from every state', () => {
    for (const state of walk().values()) {
      const ended = [plain('agent.cancelled'), plain('agent.cleaned-up')].reduce(
        (at, event) => agentFold.next(at, event),
        state,
      );
      expect(ended.value).toBe('cleaned-up');
      expect(ended.done).toBe(true);
    }
  });

  test.each(answers)('refuses %s for what it does not wait for', (type) => {
    const state = from([...running, plain('tool.requested', 'a')]);
    expect(agentFold.next(state, plain(type, 'b'))).toBe(state);
    expect(agentFold.next(from(running), plain(type, 'a')).value).toBe('running');
  });

  test('counts an answer once', () => {
    const two = [plain('tool.requested', 'a'), plain('tool.requested', 'b')];
    const one = from([...running, ...two, plain('tool.completed', 'a')]);
    expect(one.value).toBe('waiting');
    expect(agentFold.next(one, plain('tool.failed', 'a'))).toBe(one);
    expect(agentFold.next(one, plain('tool.denied', 'b')).value).toBe('running');
  });

  test('goes on from a state that was stored', () => {
    for (const state of walk().values()) {
      const stored: Persisted = JSON.parse(JSON.stringify(state));
      for (const type of [...requests, ...answers, ...lifecycle]) {
        expect(agentFold.next(stored, plain(type))).toEqual(agentFold.next(state, plain(type)));
      }
    }
  });
});
