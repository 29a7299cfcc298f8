import type { LogRecord } from '../chassis/log/port.ts';
import type { RecordHeader } from '../chassis/protocol/record.ts';
import type { SessionMeta } from '../chassis/protocol/service-logic.ts';
import type { EventContext } from './session-context.ts';

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

/** A record as it waits: its bytes, and what was found out about it. */
export type JudgedRecord = Readonly<{
  log: LogRecord;
  header: RecordHeader | undefined;
  judgement: Judgement;
}>;
