import { ownHeader } from './own-header.ts';
import type { BatchPlace, PlacedRecord, RecordBody } from './record.ts';
import { foldEntry, type ServiceEntry } from './service-fold.ts';
import type { AnyLogic } from './service-logic.ts';

/**
 * Records that a decision foresaw (DESIGN 3.5): they stand before it in its own batch, and were not in the log yet when it
 * was made. Host and replay fold them with the same functions.
 */

/** A record that is about to be written, as its writer knows it. */
export type UnplacedRecord = Readonly<{ id: string; body: RecordBody; traceparent: string }>;

/**
 * A record as if it were read at this offset, at its place in its batch.
 */
export function placedAt(
  offset: number,
  { id, body, traceparent }: UnplacedRecord,
  place: BatchPlace,
): PlacedRecord {
  return { offset, header: ownHeader(id, body, { ...place, traceparent }), body };
}

/** What a service knows once it foresaw these records, in their order. */
export const foreseeing = (
  logic: AnyLogic,
  entry: ServiceEntry,
  records: readonly PlacedRecord[],
): ServiceEntry => records.reduce((now, record) => foldEntry(logic, now, { record }), entry);
