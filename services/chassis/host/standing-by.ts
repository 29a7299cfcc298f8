import type { PartitionName } from '../log/port.ts';
import type { PlacedRecord, RecordHeader } from '../protocol/record.ts';
import { readsFold } from '../protocol/saved-entry.ts';
import { standByOf } from '../protocol/service-fold.ts';
import type { StandBy } from '../protocol/stand-by.ts';
import type { HostPorts } from './ports.ts';
import type { Seat, Slot } from './slot.ts';

/**
 * Sessions in which a service of this host decides nothing, because a newer release wrote something there that this one
 * does not understand (DESIGN 3.14). It keeps the partition: other sessions of it go on. A session that stands by holds
 * its watermark, and goes on here once a checkpoint that can be read covers the place, or under the newer release.
 */

export const standsBy = (seat: Seat): boolean => standByOf(seat.entry) !== undefined;

/**
 * Whether a seat is to start from this checkpoint: it is not known yet; or it stands by before the checkpoint's cursor;
 * or, as long as not all was read, it is known only from before that cursor.
 */
export function canStartFrom(seat: Seat, header: RecordHeader, catchingUp: boolean): boolean {
  if (!seat.known) return true;
  const standBy = standByOf(seat.entry);
  if (standBy !== undefined && countsAsRoot(seat, header))
    return header.cursorOffset >= standBy.offset;
  return catchingUp && header.cursorOffset > seat.rootCursor;
}

/** Whether a restore by this release may start from the checkpoint. */
export const countsAsRoot = ({ logic }: Seat, { fold }: RecordHeader): boolean =>
  fold === -1 || readsFold(logic, fold);

/**
 * Whether a seat goes on from the root that it has, past a checkpoint that this release cannot read: only where all
 * records of the session after that root were read. An opening is a root only if the checkpoint names the same one:
 * it might be a repeat of one that lies below the mark.
 */
export function mayKeepRoot(seat: Seat, { body }: PlacedRecord, mark: number): boolean {
  if (body.kind !== 'checkpoint' || readsFold(seat.logic, body.fold)) return false;
  if (!seat.known) return false;
  if (seat.rootCursor >= 0) return seat.rootCursor + 1 >= mark;
  return seat.beginning >= mark && seat.beginning === body.beginning;
}

export type StandsBy = Readonly<{ sessions: number; because: string; release: string }>;

/** What of these sessions stands by; undefined where nothing does. */
export function standsByIn(slots: Iterable<Slot>): StandsBy | undefined {
  let sessions = 0;
  let first: StandBy | undefined;
  for (const { seats } of slots) {
    let found: StandBy | undefined;
    for (const { entry } of seats.values()) found ??= standByOf(entry);
    if (found === undefined) continue;
    sessions += 1;
    first ??= found;
  }
  if (first === undefined) return undefined;
  return { sessions, because: first.because, release: first.release };
}

/** Of a heartbeat: which partitions hold such sessions. */
export function standsByOf(
  partitions: Iterable<Readonly<{ name: PartitionName; standsBy: StandsBy | undefined }>>,
): Readonly<{ standsBy?: Readonly<Record<string, StandsBy>> }> {
  const all: Record<string, StandsBy> = {};
  for (const { name, standsBy } of partitions)
    if (standsBy !== undefined) all[`${name.topic}/${name.partition}`] = standsBy;
  return Object.keys(all).length === 0 ? {} : { standsBy: all };
}

const fix =
  'start the newer release; sessions that hold this go on there, or here once it has written a checkpoint that this release reads';

/** Says what stands by: each reason once for a partition. How many sessions it holds is in the presence. */
export class StandByNotice {
  private readonly said = new Set<string>();
  private readonly at: PartitionName;
  private readonly logger: HostPorts['logger'];

  constructor(at: PartitionName, { logger }: Pick<HostPorts, 'logger'>) {
    this.at = at;
    this.logger = logger;
  }

  /** Whether nothing ever stood by here: it need not be looked for. */
  get isSilent(): boolean {
    return this.said.size === 0;
  }

  look(slot: Slot): void {
    for (const { entry, logic } of slot.seats.values()) {
      const standBy = standByOf(entry);
      if (standBy !== undefined) this.say(slot.session, logic.name, standBy);
    }
  }

  private say(session: string, service: string, standBy: StandBy): void {
    const { because, release, record, offset } = standBy;
    const name = `${service} ${because} ${release}`;
    if (this.said.has(name)) return;
    this.said.add(name);
    const fields = { ...this.at, session, service, because, release, record, offset, fix };
    this.logger.warn(fields, 'a newer release is about: standing by');
  }
}
