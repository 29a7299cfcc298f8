import type { EventAddress, EventType, SeenEvent } from '../../../schemas/event.ts';
import type { EventRecord } from './event-record.ts';

type Source = Readonly<{ service: string; incarnation: string; atMs: number }>;

/** An event of a record as folds see it. Written out, not spread: every reader makes one of each event of the log. */
export function seen(event: EventRecord, at: EventAddress, source: Source): SeenEvent {
  const made = {
    type: event.type as EventType,
    version: event.version,
    data: event.data,
    content: event.content ?? {},
    record: at.record,
    index: at.index,
    service: source.service,
    incarnation: source.incarnation,
    atMs: source.atMs,
  };
  return made as unknown as SeenEvent;
}
