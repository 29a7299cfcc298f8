import type { EventAddress, EventType, SeenEvent } from '../../../schemas/event.ts';
import type { EventRecord } from './seal.ts';

type Source = Readonly<{ service: string; incarnation: string; atMs: number }>;

/** An event of a record as folds see it. */
export function seen(event: EventRecord, at: EventAddress, source: Source): SeenEvent {
  const { type, version, data } = event;
  const content = event.content ?? {};
  return {
    type: type as EventType,
    version,
    data,
    content,
    ...at,
    ...source,
  } as unknown as SeenEvent;
}
