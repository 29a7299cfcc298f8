import { ClosedSessions } from '../chassis/host/closed-sessions.ts';
import type { ClosedSegment } from '../chassis/host/watermarks.ts';
import type { PartitionName } from '../chassis/log/port.ts';
import { type AcceptanceState, accept, copyAcceptance } from '../chassis/protocol/acceptance.ts';
import type { PlacedRecord } from '../chassis/protocol/record.ts';
import { foldCore, type SessionCore, unknownSession } from '../chassis/protocol/session-core.ts';
import { bodyOf, type DecodedRecord } from './decoded-record.ts';
import type { Judgement } from './judged-record.ts';
import { type EventContext, SessionContext, sourcesOf } from './session-context.ts';

/** How one partition is judged, record by record in the order of the log. */
export type PartitionFold = Readonly<{
  /** Takes the next record. */
  judge(record: DecodedRecord): Judgement;
  /** Where somebody must start reading to judge the record at this offset and all later ones. */
  needFrom(next: number): number;
  /** The acceptance state before the next record. */
  readonly acceptance: AcceptanceState;
}>;

/**
 * Each record of a public topic stands for itself. `bare`: what people wrote in it is not stored, because tenants have
 * keys, and a public topic is not sealed.
 */
export const createPublicFold = (bare = false): PartitionFold => ({
  judge: () => ({
    kind: 'public',
    ...{ effectiveEvents: 1, session: undefined },
    ...(bare ? { bare } : {}),
  }),
  needFrom: (next) => next,
  acceptance: {},
});

const nothing: Judgement = { kind: 'session', effectiveEvents: 0, session: undefined };

/** How long a cancel waits for the opening of its session, by the log's own time. */
const earlyCancelMs = 3_600_000;

/**
 * The rules of DESIGN 3 over one partition of a session log, the same as every host applies:
 * acceptance, sessions that begin and end, each input once. Every session that is open, and each
 * cancel that waits for one, holds `needFrom`.
 */
export class SessionFold implements PartitionFold {
  readonly acceptance: AcceptanceState;
  private readonly closed: ClosedSessions;
  private readonly cores = new Map<string, SessionCore>();
  private readonly contexts = new Map<string, SessionContext>();
  /** Session -> offset of its first record; in the order of offsets. */
  private readonly begun = new Map<string, number>();
  /** Sessions of which only a cancel came. */
  private readonly waiting = new Set<string>();

  constructor(
    partition: PartitionName,
    from: { acceptance: AcceptanceState; closed: readonly ClosedSegment[] },
  ) {
    this.acceptance = copyAcceptance(from.acceptance);
    this.closed = new ClosedSessions(partition, from.closed);
  }

  needFrom(next: number): number {
    for (const first of this.begun.values()) return Math.min(first, next);
    return next;
  }

  judge(record: DecodedRecord): Judgement {
    const { header } = record;
    if (header === undefined) return { ...nothing, kind: 'foreign' };
    const accepted = accept(this.acceptance, header);
    if (header.kind === 'epoch') return { ...nothing, effectiveEvents: accepted ? 1 : 0 };
    const core = this.cores.get(header.session);
    if (header.kind === 'checkpoint') {
      const counts = accepted && core?.status === 'open';
      return { ...nothing, effectiveEvents: counts ? 1 : 0, session: core?.meta };
    }
    const body = bodyOf(record);
    if (!accepted || body === undefined) return { ...nothing, session: core?.meta };
    const placed = { offset: record.log.offset, header, body };
    try {
      return this.fold(placed, core ?? unknownSession(header.session));
    } catch {
      // A body with the right outline and nonsense inside: it brings nothing, as one that cannot be
      // read.
      return { ...nothing, session: core?.meta };
    }
  }

  private fold(record: PlacedRecord, core: SessionCore): Judgement {
    const { session } = record.header;
    const { offset, body } = record;
    if (this.closed.closedBefore(session, offset)) return nothing;
    const step = foldCore(core, record);
    const { status, meta } = step.core;
    const contexts = this.contextsOf(record, step.events.length);
    const judged = { ...nothing, effectiveEvents: step.events.length, session: meta, contexts };
    if (status === 'closed') {
      this.closed.add(session, { offset, atMs: body.atMs });
      this.forget(session);
    } else if (status === 'unknown') this.contexts.delete(session);
    else this.keep(session, step.core, offset);
    this.expireEarlyCancels(body.atMs);
    return status === 'closed' ? { ...judged, ends: true } : judged;
  }

  /** Of all events of a record, those that count taken in, in order. */
  private contextsOf(
    { header, body }: PlacedRecord,
    effectiveEvents: number,
  ): readonly (EventContext | undefined)[] {
    const known = this.contexts.get(header.session) ?? new SessionContext();
    this.contexts.set(header.session, known);
    return sourcesOf(body, header.atMs).map((source, index) => {
      if (index < effectiveEvents) known.take(source);
      return known.of(source);
    });
  }

  private keep(session: string, core: SessionCore, offset: number): void {
    this.cores.set(session, core);
    if (!this.begun.has(session)) this.begun.set(session, offset);
    if (core.status === 'cancelled-early') this.waiting.add(session);
  }

  private forget(session: string): void {
    this.cores.delete(session);
    this.contexts.delete(session);
    this.begun.delete(session);
  }

  /** A cancel whose session never opens must not hold the position for ever. */
  private expireEarlyCancels(nowMs: number): void {
    for (const session of this.waiting) {
      const core = this.cores.get(session);
      if (core?.status !== 'cancelled-early') this.waiting.delete(session);
      else if (core.last.atMs < nowMs - earlyCancelMs) {
        this.waiting.delete(session);
        this.forget(session);
      }
    }
  }
}
