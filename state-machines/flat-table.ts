import type { AnyStateMachine, AnyStateNode, EventObject } from 'xstate';
import type { JsonObject } from '../schemas/json.ts';
import type { Persisted } from './persisted.ts';

/**
 * The moves of a flat machine, read from its definition once: state and event -> what is asked, what is assigned, where it
 * leads. A machine that needs more than that has no table, and XState itself moves it: an order of magnitude dearer, for the
 * snapshots, microsteps and lists of nodes that a flat machine has no use for.
 */

type Guard = (args: { context: JsonObject; event: EventObject }) => boolean;
type Assign = (context: JsonObject, event: EventObject) => JsonObject;
type Move = Readonly<{ guard?: Guard; assigns: readonly Assign[]; value: string; done: boolean }>;

/** State -> event type -> its moves; the first whose guard agrees is made. */
export type FlatTable = ReadonlyMap<string, ReadonlyMap<string, readonly Move[]>>;

type Transition = AnyStateNode['transitions'] extends Map<string, (infer T)[]> ? T : never;
type Named = Readonly<Record<string, unknown>>;

/** A function of the machine's author, by itself or by its name; undefined for anything that XState made of one. */
function plain(found: unknown, named: Named): ((...args: never[]) => unknown) | undefined {
  const made = typeof found === 'string' ? named[found] : found;
  if (typeof made !== 'function' || 'check' in made || 'resolve' in made) return undefined;
  return made as (...args: never[]) => unknown;
}

/** What `assign` made, as a function of context and event. */
function assignOf(found: unknown, named: Named): Assign | undefined {
  const type = (found as { type?: string } | null)?.type;
  const action = typeof found === 'string' || typeof found === 'function' ? found : type;
  const made = typeof action === 'string' ? named[action] : action;
  const { assignment } = (made ?? {}) as { assignment?: unknown };
  if (typeof assignment === 'function')
    return (context, event) => ({ ...context, ...assignment({ context, event }) });
  if (typeof assignment !== 'object' || assignment === null) return undefined;
  const members = Object.entries(assignment);
  return (context, event) => {
    const values = members.map(([name, value]) => [
      name,
      typeof value === 'function' ? value({ context, event }) : value,
    ]);
    return { ...context, ...Object.fromEntries(values) };
  };
}

function moveOf(machine: AnyStateMachine, from: string, one: Transition): Move | undefined {
  const { guards, actions } = machine.implementations as unknown as Record<string, Named>;
  const { target, guard, reenter } = one;
  const assigns = one.actions.map((action) => assignOf(action, actions ?? {}));
  const nodes = target ?? [];
  if (reenter || nodes.length > 1 || (nodes.length === 0 && assigns.length === 0)) return undefined;
  const asked = guard === undefined ? undefined : plain(guard, guards ?? {});
  if (assigns.includes(undefined) || (guard !== undefined && asked === undefined)) return undefined;
  const [node] = nodes;
  return {
    ...(asked === undefined ? {} : { guard: asked as Guard }),
    assigns: assigns as Assign[],
    value: node?.key ?? from,
    done: node?.type === 'final',
  };
}

const isFlat = (node: AnyStateNode): boolean =>
  ['atomic', 'final'].includes(node.type) &&
  [node.entry, node.exit, node.invoke, node.after, node.always ?? []].every(
    (list) => list.length === 0,
  ) &&
  node.output === undefined;

/** Undefined where the machine has more than flat states, guards and assigns. */
export function flatTableOf(machine: AnyStateMachine): FlatTable | undefined {
  const { root, states } = machine;
  if (root.transitions.size > 0 || root.type !== 'compound') return undefined;
  const table = new Map<string, ReadonlyMap<string, readonly Move[]>>();
  for (const [value, node] of Object.entries(states) as [string, AnyStateNode][]) {
    if (!isFlat(node)) return undefined;
    const byEvent = new Map<string, readonly Move[]>();
    for (const [type, transitions] of node.transitions) {
      const moves = transitions.map((one) => moveOf(machine, value, one));
      if (type.includes('*') || moves.includes(undefined)) return undefined;
      byEvent.set(type, moves as Move[]);
    }
    table.set(value, byEvent);
  }
  return table;
}

/** The next state; the same object where the event is refused. Undefined for a state that the machine does not have. */
export function moveBy(table: FlatTable, state: Persisted, event: EventObject) {
  const moves = table.get(state.value);
  if (moves === undefined) return undefined;
  if (state.done) return state;
  const { context } = state;
  const move = moves
    .get(event.type)
    ?.find(({ guard }) => guard === undefined || guard({ context, event }));
  if (move === undefined) return state;
  const next = move.assigns.reduce((now, assign) => assign(now, event), context);
  return { value: move.value, context: next, done: move.done };
}
