import { bodyOf, type DecodedRecord, decodeWith } from './decoded-record.ts';
import type { JudgedRecord, Judgement } from './judged-record.ts';
import { bareRow, foreignRow, publicRow, unreadableRow } from './plain-rows.ts';
import type { EventRow } from './row.ts';
import { sessionRows } from './session-rows.ts';

/** How many rows `rowsOf` will make. */
export function countRows(record: DecodedRecord, { kind }: Judgement): number {
  const body = kind === 'session' ? bodyOf(record) : undefined;
  return body?.kind === 'turn' ? body.events.length : 1;
}

/** The rows of a record: at least one, the same ones every time. Never throws. */
export function rowsOf({ log, header, judgement }: JudgedRecord): readonly EventRow[] {
  const record = decodeWith(log, header);
  try {
    if (judgement.kind === 'public')
      return [judgement.bare === true ? bareRow(record) : publicRow(record)];
    if (judgement.kind === 'foreign') return [foreignRow(record)];
    return sessionRows(record, judgement);
  } catch {
    // Nested too deep, say: kept as bytes.
    return [unreadableRow({ ...record, value: undefined, text: undefined })];
  }
}
