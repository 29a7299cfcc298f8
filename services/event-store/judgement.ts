import type { LogRecord } from '../chassis/log/port.ts';
import type { RecordHeader } from '../chassis/protocol/record.ts';
import type { SessionMeta } from '../chassis/protocol/service-logic.ts';
import { bodyOf, type DecodedRecord, decodeWith } from './decoded-record.ts';
import { bareRow, foreignRow, publicRow, unreadableRow } from './plain-rows.ts';
import type { EventRow } from './row.ts';
import type { EventContext } from './session-context.ts';
import { sessionRows } from './session-rows.ts';

/** What the rules of the log say of one record. */
export type Judgement = Readonly<{
  kind: 'session' | 'public' | 'foreign';
  /** So many of its events count, from the first on. */
  effectiveEvents: number;
  /** Who the session belongs to, for records that do not say so themselves. */
  session: SessionMeta | undefined;
  /** What earlier events say about each of its events; nothing where that is nothing. */
  contexts?: readonly (EventContext | undefined)[];
  /** Its session ends with it. */
  ends?: true;
  /** The row of a public record holds its structure and nothing that people wrote. */
  bare?: boolean;
}>;

/** How many rows `rowsOf` will make. */
export function countRows(record: DecodedRecord, { kind }: Judgement): number {
  const body = kind === 'session' ? bodyOf(record) : undefined;
  return body?.kind === 'turn' ? body.events.length : 1;
}

/** A record as it waits: its bytes, and what was found out about it. */
export type JudgedRecord = Readonly<{
  log: LogRecord;
  header: RecordHeader | undefined;
  judgement: Judgement;
}>;

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
