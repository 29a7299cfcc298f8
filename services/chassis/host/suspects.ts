import type { Refused } from '../protocol/record.ts';

/**
 * Decisions that may kill their host, and what presence tells of them (DESIGN 3.14). Pure.
 *
 * A decision is known by its session, its service, and the record that it starts from: as long as nobody has decided it,
 * every host that takes over comes to the same three.
 */
export type Named = Readonly<{ session: string; service: string; record: string }>;

/** One that some host died on, or may have died on. `died`: incarnations that died while they decided it alone. */
export type Suspect = Named & Readonly<{ died: readonly string[] }>;

/** What an instance said last of a partition. */
export type Trace = Readonly<{
  incarnation: string;
  /** `ended`: in good order. `doubtful`: not heard lately, and not silent for long enough to be dead. */
  is: 'alive' | 'ended' | 'dead' | 'doubtful';
  deciding: readonly Named[];
  suspects: readonly Suspect[];
}>;

/** So many incarnations that died on one decision alone make it poison. */
export const deathsMax = 2;

export const keyOf = ({ session, service }: Omit<Named, 'record'>): string =>
  `${session} ${service}`;

const nameOf = (one: Named): string => `${keyOf(one)} ${one.record}`;

/** What the traces of a partition say of a decision. */
export class Evidence {
  private readonly died = new Map<string, Set<string>>();
  private readonly doubtful = new Set<string>();

  constructor(traces: readonly Trace[]) {
    for (const trace of traces) {
      for (const one of trace.suspects) this.note(one, one.died);
      if (trace.is === 'alive' || trace.is === 'ended') continue;
      for (const one of trace.deciding) {
        if (trace.is === 'doubtful') this.doubtful.add(nameOf(one));
        else this.note(one, trace.deciding.length === 1 ? [trace.incarnation] : []);
      }
    }
  }

  private note(one: Named, died: readonly string[]): void {
    const known = this.died.get(nameOf(one)) ?? new Set<string>();
    for (const incarnation of died) known.add(incarnation);
    this.died.set(nameOf(one), known);
  }

  get isEmpty(): boolean {
    return this.died.size === 0 && this.doubtful.size === 0;
  }

  /** Incarnations that died on it alone; undefined for one that nobody suspects. */
  deathsOf(one: Named): readonly string[] | undefined {
    const known = this.died.get(nameOf(one));
    return known === undefined ? undefined : [...known].sort();
  }

  /** Whether somebody who may be dead was deciding it. */
  isDoubtful(one: Named): boolean {
    return this.doubtful.has(nameOf(one));
  }
}

/** Why a decision that so many died on is not tried again. */
export function poisonOf({ record }: Named, died: readonly string[]): Refused {
  const message = `${died.length} hosts died deciding what starts from ${record} (incarnations ${died.join(', ')})`;
  return { code: 'POISON', message };
}
