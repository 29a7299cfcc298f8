import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventObject,
} from 'xstate';
import type { JsonObject } from '../schemas/json.ts';
import { flatTableOf, moveBy } from './flat-table.ts';
import type { Persisted } from './persisted.ts';

export type { Persisted } from './persisted.ts';

/**
 * The only place that runs XState outside the machines. Machines are pure: no `after`, `invoke`, `spawn`, `sendTo`,
 * no history states; assigns and guards only.
 */

export type Fold<E extends EventObject> = Readonly<{
  id: string;
  /** The machine's definition, to be hashed by who stores states of it. */
  definition: string;
  initial(): Persisted;
  /** The next state; the same object when the machine refuses the event (late, repeated or illegal). */
  next(state: Persisted, event: E): Persisted;
  /** Whether the event changes the state. */
  can(state: Persisted, event: E): boolean;
}>;

/** One inert scope, reused: XState builds a throw-away actor per call otherwise. */
function inertScope(machine: AnyStateMachine): AnyActorScope {
  const actor = createActor(machine);
  const none = (): void => undefined;
  return {
    self: actor,
    system: actor.system,
    id: machine.id,
    sessionId: '',
    logger: none,
    defer: none,
    stopChild: none,
    emit: none,
    actionExecutor: none,
  };
}

/** A pure fold over one machine with flat states. */
export function createFold<E extends EventObject>(machine: AnyStateMachine): Fold<E> {
  const scope = inertScope(machine);
  const table = flatTableOf(machine);
  const live = new WeakMap<Persisted, AnyMachineSnapshot>();
  const persist = (snapshot: AnyMachineSnapshot): Persisted => {
    const state: Persisted = {
      value: String(snapshot.value),
      context: snapshot.context as JsonObject,
      done: snapshot.status === 'done',
    };
    live.set(state, snapshot);
    return state;
  };
  const restore = (state: Persisted): AnyMachineSnapshot => {
    const known = live.get(state);
    if (known !== undefined) return known;
    const status = state.done ? 'done' : 'active';
    const json = {
      status,
      value: state.value,
      context: state.context,
      historyValue: {},
      children: {},
    };
    const snapshot = machine.restoreSnapshot(json as never, scope) as AnyMachineSnapshot;
    live.set(state, snapshot);
    return snapshot;
  };
  const start = persist(machine.getInitialSnapshot(scope, undefined) as AnyMachineSnapshot);
  return {
    id: machine.id,
    definition: JSON.stringify(machine.definition),
    initial: () => start,
    next(state, event) {
      const moved = table === undefined ? undefined : moveBy(table, state, event);
      if (moved !== undefined) return moved;
      const before = restore(state);
      const after = machine.transition(before, event, scope) as AnyMachineSnapshot;
      return after === before ? state : persist(after);
    },
    can: (state, event) => restore(state).can(event),
  };
}
