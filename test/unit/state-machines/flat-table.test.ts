import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  assign,
  createMachine,
  initialTransition,
  setup,
  transition,
} from 'xstate';
import { agentMachine } from '../../../state-machines/agent/agent-machine.ts';
import { flatTableOf, moveBy } from '../../../state-machines/flat-table.ts';
import type { Persisted } from '../../../state-machines/persisted.ts';
import { sandboxMachine } from '../../../state-machines/sandbox/sandbox-machine.ts';
import { sessionMachine } from '../../../state-machines/session/session-machine.ts';
import { taskMachine } from '../../../state-machines/task/task-machine.ts';
import { toolCallMachine } from '../../../state-machines/tool-call/tool-call-machine.ts';

const machines: readonly AnyStateMachine[] = [
  ...[agentMachine, sandboxMachine, sessionMachine, taskMachine, toolCallMachine],
];

const typesOf = (machine: AnyStateMachine): string[] => [
  ...new Set(Object.values(machine.states).flatMap((node) => [...node.transitions.keys()])),
];

const asData = ({ value, context, status }: AnyMachineSnapshot): Persisted => ({
  ...{ value: String(value), done: status === 'done' },
  context: context as Persisted['context'],
});

describe.each(machines.map((machine) => [machine.id, machine] as const))('%s', (_, machine) => {
  const table = flatTableOf(machine);
  const types = typesOf(machine);
  const eventOf = fc.record({
    type: fc.constantFrom(...types, 'nothing.known'),
    id: fc.constantFrom('one', 'two', 'three'),
    attempt: fc.integer({ min: 0, max: 3 }),
    status: fc.constantFrom('completed', 'failed', 'cancelled'),
  });

  test('its table moves it as XState does, event by event', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(eventOf, { maxLength: 40 }), (events) => {
        let [snapshot] = initialTransition(machine);
        for (const event of events) {
          const before = asData(snapshot);
          const [next] = transition(machine, snapshot, event);
          const moved = table === undefined ? undefined : moveBy(table, before, event);
          expect(moved).toEqual(asData(next));
          expect(moved === before).toBe(next === snapshot);
          snapshot = next;
          seen.add(String(next.value));
        }
      }),
      { numRuns: 300 },
    );
    expect(seen.size).toBeGreaterThan(1);
  });

  test('a state that it does not have is left to XState', () => {
    const strange = { value: 'of another release', context: {}, done: false };
    expect(table && moveBy(table, strange, { type: types[0] ?? '' })).toBeUndefined();
  });
});

test('what is more than flat states, guards and assigns has no table', () => {
  const flat = { initial: 'a', states: { a: { on: { go: 'b' } }, b: {} } } as const;
  expect(flatTableOf(setup({}).createMachine(flat))?.size).toBe(2);
  const act = (): void => undefined;
  const others: readonly Parameters<typeof createMachine>[0][] = [
    { ...flat, on: { go: '.a' } },
    { initial: 'a', states: { a: { always: 'b' }, b: {} } },
    { initial: 'a', states: { a: { entry: assign({ one: 1 }), on: { go: 'b' } }, b: {} } },
    { initial: 'a', states: { a: { initial: 'c', states: { c: {} } } } },
    { initial: 'a', states: { a: { on: { '*': 'b' } }, b: {} } },
    { initial: 'a', states: { a: { on: { go: { target: 'b', actions: act } } }, b: {} } },
    { initial: 'a', states: { a: { on: { go: {} } } } },
    { initial: 'a', states: { a: { on: { go: { target: 'a', reenter: true } } } } },
    { initial: 'a', states: { a: { after: { 10: 'b' } }, b: {} } },
  ];
  for (const other of others) expect(flatTableOf(createMachine(other))).toBeUndefined();
});
