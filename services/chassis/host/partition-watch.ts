import type { SeenEvent } from '../../../schemas/event.ts';
import type { PartitionName } from '../log/port.ts';
import type { PlacedRecord } from '../protocol/record.ts';
import type { PartitionLog } from './partition-log.ts';
import type { PartitionParts } from './partition-parts.ts';

/** What is counted of one partition: how long it takes to have it, and what this process writes into it. */
export class PartitionWatch {
  private readonly parts: Pick<PartitionParts, 'ports' | 'identity'>;
  private readonly log: Pick<PartitionLog, 'wasThere'>;
  private readonly at: PartitionName;
  private beganAtMs: number | undefined;

  constructor(
    at: PartitionName,
    parts: Pick<PartitionParts, 'ports' | 'identity'>,
    log: Pick<PartitionLog, 'wasThere'>,
  ) {
    this.at = at;
    this.parts = parts;
    this.log = log;
    this.begin();
  }

  /** The group gave us the partition. */
  begin(): void {
    this.beganAtMs = this.parts.ports.clock.nowMs();
  }

  /** It was read, and this host acts for it. Later epochs of the same assignment are no takeover. */
  owned(won: readonly string[], number: number): void {
    this.parts.ports.logger.info({ ...this.at, won, number }, 'partition owned');
    if (this.beganAtMs === undefined) return;
    this.parts.ports.figures?.rehydrated(this.parts.ports.clock.nowMs() - this.beganAtMs);
    this.beganAtMs = undefined;
  }

  /**
   * What was there at the assignment was counted by whoever wrote it then: also where that was this process, before the
   * partition stopped and was opened again.
   */
  saw(record: PlacedRecord, events: readonly SeenEvent[]): void {
    const { ports, identity } = this.parts;
    if (ports.figures === undefined || events.length === 0) return;
    const { body, header, offset } = record;
    const author = body.kind === 'checkpoint' ? undefined : body.incarnation;
    const own = author === identity.incarnation && !this.log.wasThere(offset);
    ports.figures.saw({ session: header.session, service: header.service, own, events });
  }
}
