import type { EventRecord } from './event-record.ts';
import type { Language } from './language.ts';
import type { PlacedRecord } from './record.ts';

/**
 * Why this release decides no more in a session (DESIGN 3.14): it holds something that only a newer release understands.
 * Nothing is lost by that: what is not decided stays due, and the newer release decides it.
 */
export type StandBy = Readonly<{
  /** What is not understood, as a clause: `event task.explained version 1`. */
  because: string;
  /** The record that holds it, and a place: a readable checkpoint from there on makes the session known again. */
  record: string;
  offset: number;
  /** The release that wrote it, where the record says so. */
  release: string;
}>;

/** An effective event that is not understood, with the only services that must understand it, where it names them. */
export type StrangeEvent = Readonly<{
  record: string;
  index: number;
  readers: readonly string[] | undefined;
  standBy: StandBy;
}>;

/** A pool's workers are one service: `worker-pool` names them all. */
export const concerns = ({ readers }: StrangeEvent, service: string): boolean =>
  readers === undefined || readers.some((one) => one === service || service.startsWith(`${one}:`));

/** The event as this release understands it; or what it is, where it does not. */
export function understood(
  language: Language,
  event: EventRecord,
  at: Readonly<{ record: PlacedRecord; index: number }>,
): Readonly<{ event: EventRecord; strange?: StrangeEvent }> {
  const known = language.understand(event);
  if (known !== undefined) return { event: known };
  const { body, header, offset } = at.record;
  const release = body.kind === 'turn' ? body.release : '';
  const because = `event ${event.type} version ${event.version}`;
  // A newer version of an event that is known may be one that the rules of the log themselves use.
  const readers = language.versionOf(event.type) === undefined ? event.readers : undefined;
  const standBy = { because, record: header.id, offset, release };
  return { event, strange: { record: header.id, index: at.index, readers, standBy } };
}
