import { LongreinError } from '../../services/chassis/errors.ts';
import type { Happening, History } from './history.ts';

/** Finds the event that a person named. */

/** With `~` in the past that a fork shares. */
const place = /^(~?\d+)(?:\.(\d+))?$/;
const recordId = /^([a-z]+_[0-9a-f]{4,})(?:#(\d+))?$/;

function unknown(history: History, wanted: string, fix: string): LongreinError {
  const message = `there is no event ${wanted} in ${history.session}`;
  return new LongreinError('EVENT_UNKNOWN', message, { fix });
}

const howToName =
  'name an event as `longrein replay show` does (12.0: offset and index), or by record and index (trn_0f3a…#0)';

function nearestTo(history: History, offset: number): string {
  const distance = (one: Happening): number => Math.abs(one.offset - offset);
  const [nearest] = history.entries.toSorted((a, b) => distance(a) - distance(b));
  if (nearest === undefined) return howToName;
  if (nearest.offset !== offset) return `the nearest one is ${nearest.place} ${nearest.event.type}`;
  const { length } = history.ofRecord(nearest.event.record);
  return `the record at offset ${offset} has ${offset}.0 to ${offset}.${length - 1}`;
}

function byPlace(history: History, wanted: string, [, offset, index]: RegExpExecArray): Happening {
  const at = `${offset}.${index ?? 0}`;
  const found = history.whole.find((one) => one.place === at);
  if (found === undefined)
    throw unknown(history, wanted, nearestTo(history, Number(offset?.replace('~', ''))));
  return found;
}

function byRecord(history: History, wanted: string, parts: RegExpExecArray): Happening {
  const [, start = '', index = '0'] = parts;
  const records = new Set(
    history.whole.map(({ event }) => event.record).filter((record) => record.startsWith(start)),
  );
  if (records.size > 1) {
    const message = `${wanted} is the start of ${records.size} records of ${history.session}`;
    throw new LongreinError('EVENT_AMBIGUOUS', message, { fix: 'give more of the id' });
  }
  const [record = ''] = records;
  const found = history.at(`${record}#${index}`);
  if (found === undefined) throw unknown(history, wanted, howToName);
  return found;
}

/**
 * The event that `wanted` names: `12.0` (offset and index), `12` (the first of the record), `trn_0f3a#0` (record or its
 * start, and index), `first`, `last`. Throws LongreinError EVENT_UNKNOWN with the nearest one, EVENT_AMBIGUOUS.
 */
export function findEvent(history: History, wanted: string): Happening {
  const [first, last] = [history.entries[0], history.entries.at(-1)];
  if (wanted === 'first' && first !== undefined) return first;
  if (wanted === 'last' && last !== undefined) return last;
  const placed = place.exec(wanted);
  if (placed !== null) return byPlace(history, wanted, placed);
  const named = recordId.exec(wanted);
  if (named !== null) return byRecord(history, wanted, named);
  throw unknown(history, wanted, howToName);
}
