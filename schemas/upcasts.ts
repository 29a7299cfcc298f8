import type { Content } from './event.ts';
import type { JsonObject } from './json.ts';

/**
 * How an event of an older version is read as one of the next. An upcast is a pure function of the event alone: what it
 * cannot know it fills with what the older version meant. Records in the log stay as they are; ids and hashes are over
 * what was written.
 */

/** What a version changes: the data, and the names of its contents. Digests are kept. */
export type EventForm = Readonly<{
  data: JsonObject;
  content?: Readonly<Record<string, Content>>;
}>;

export type Upcast = (event: EventForm) => EventForm;

/** Event type -> version -> how that version is read as the next one. */
export type Upcasts = Readonly<Record<string, Readonly<Record<number, Upcast>>>>;

/** Those of this release: no event has a second version yet. */
export const upcasts: Upcasts = {};
