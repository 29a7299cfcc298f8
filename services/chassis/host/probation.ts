import { limits } from '../../../schemas/limits.ts';
import type { EventRecord } from '../protocol/event-record.ts';
import type { Slot } from './slot.ts';

type Watched = {
  /** Calls that were open when the session was first asked about, and still are. */
  readonly before: Set<string>;
  /** Calls whose outcomes went by themselves and were not decided yet. */
  readonly sent: Set<string>;
  /** Outcomes that went by themselves and were decided. */
  well: number;
};

/**
 * Sessions that were there when a host took over from one that did not end in good order (DESIGN 3.14): their outcomes and
 * timers go before what answers them. One whose answer kills its host must be in the log, where the next host finds it due.
 *
 * B1 A session is trusted again once all calls that were open have ended and some outcomes were decided here with no harm.
 * B2 One that has lived through another takeover before is not, as long as this host runs: what kills now and then, each
 *    time as the answer to another call, would never be found.
 */
export class Probation {
  private readonly watched = new Map<string, Watched | 'trusted'>();
  /** Sessions that began before were there at the takeover; those that began before `twiceBelow` at another one, too. */
  private below = Number.NEGATIVE_INFINITY;
  private twiceBelow = Number.NEGATIVE_INFINITY;

  /** A takeover at this place; `before`: the place of the one before, as far as it is known. */
  begin(at: Readonly<{ position: number; before: number }>): void {
    this.below = at.position;
    this.twiceBelow = at.before;
    this.watched.clear();
  }

  /** Whether this input of the session goes by itself. Asked where nothing of the session is due or on its way. */
  holds(slot: Pick<Slot, 'session' | 'seats' | 'core'>, { data }: EventRecord): boolean {
    const since = beginningOf(slot);
    if (since >= this.below) return false;
    const { core, session } = slot;
    if (core === undefined || since < this.twiceBelow) return true;
    const one = this.watched.get(session) ?? begun(Object.keys(core.calls));
    if (one === 'trusted') return false;
    this.watched.set(session, look(one, core.calls));
    if (this.watched.get(session) === 'trusted') return false;
    const call = data['call'];
    if (typeof call === 'string') one.sent.add(call);
    return true;
  }
}

const begun = (open: readonly string[]): Watched => ({
  before: new Set(open),
  sent: new Set(),
  well: 0,
});

/** Where the first record of the session stands; less than 0 where nobody knows. */
const beginningOf = ({ seats }: Pick<Slot, 'seats'>): number =>
  Math.min(...[...seats.values()].map(({ beginning }) => beginning));

function look(one: Watched, open: Readonly<Record<string, unknown>>): Watched | 'trusted' {
  for (const call of one.before) if (open[call] === undefined) one.before.delete(call);
  for (const call of one.sent) {
    if (open[call] !== undefined) continue;
    one.sent.delete(call);
    one.well += 1;
  }
  return one.before.size === 0 && one.well >= limits.trustedOutcomes ? 'trusted' : one;
}
