/**
 * One decision in the making: events in order, and the state as it will be after them, so that one
 * turn can carry all that follows from its own first events. The turn's id, time and digests do not
 * exist yet: what a fold takes from an own event may depend on its type, data and bodies only.
 */

import type { Draft, SeenEvent } from '../../../schemas/event.ts';
import { InvariantError } from '../errors.ts';

export type Proposal<S> = Readonly<{
  /** The state after all events written so far. */
  state: S;
  drafts: readonly Draft[];
  /**
   * Adds an event. Throws InvariantError if the state refuses it: a decision may not be illegal at
   * its base.
   */
  write(draft: Draft): void;
  /** The same for an event that this state need not know, such as a timer that is taken back. */
  follow(draft: Draft): void;
}>;

function foreseen(draft: Draft, index: number): SeenEvent {
  const bodies = Object.entries(draft.content ?? {}).map(([name, part]) => [
    name,
    { digest: '', bytes: 0, mediaType: part?.mediaType ?? '', body: part?.body ?? null },
  ]);
  const source = { service: '', incarnation: '', atMs: 0, record: '', index, version: 1 };
  const { type, data } = draft;
  return { type, data, content: Object.fromEntries(bodies), ...source } as SeenEvent;
}

/** Starts from the state at the decision's base. `evolve` is the service's own fold. */
export function beginProposal<S>(start: S, evolve: (state: S, event: SeenEvent) => S): Proposal<S> {
  const drafts: Draft[] = [];
  let state = start;
  return {
    drafts,
    get state() {
      return state;
    },
    write(draft) {
      const next = evolve(state, foreseen(draft, drafts.length));
      if (next === state) throw new InvariantError(`the state refuses the own event ${draft.type}`);
      state = next;
      drafts.push(draft);
    },
    follow(draft) {
      state = evolve(state, foreseen(draft, drafts.length));
      drafts.push(draft);
    },
  };
}
