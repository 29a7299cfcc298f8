import type { SeenEvent } from '../../../schemas/event.ts';
import type { PartitionName } from '../log/port.ts';
import type { PlacedRecord } from '../protocol/record.ts';
import type { CallNote } from '../telemetry/span-attributes.ts';
import { CallNotes } from './call-notes.ts';
import type { HostIdentity } from './ownership.ts';
import type { HostPorts } from './ports.ts';

type Parts = Readonly<{ ports: HostPorts; identity: HostIdentity }>;

/** What is counted of one partition: how long it takes to have it, and what this process writes into it. */
export class PartitionWatch {
  private readonly parts: Parts;
  private readonly at: PartitionName;
  private readonly notes: CallNotes;
  private beganAtMs: number | undefined;

  constructor(at: PartitionName, parts: Parts) {
    this.at = at;
    this.parts = parts;
    this.notes = new CallNotes(parts.ports);
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
  saw(record: PlacedRecord, events: readonly SeenEvent[], wasThere: boolean): void {
    if (events.length === 0) return;
    const { ports, identity } = this.parts;
    const { body, header } = record;
    const { session, service, traceparent } = header;
    const author = body.kind === 'checkpoint' ? undefined : body.incarnation;
    const own = author === identity.incarnation && !wasThere;
    this.notes.saw(events, { session, traceparent, own });
    ports.figures?.saw({ session, service, own, events });
  }

  /** What the request of a call said, for its span. */
  noteOf(call: string): CallNote | undefined {
    return this.notes.of(call);
  }
}
