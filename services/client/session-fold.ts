import type { SeenEvent } from '../../schemas/event.ts';
import type { LogRecord } from '../chassis/log/port.ts';
import type { AcceptanceState } from '../chassis/protocol/acceptance.ts';
import { parseHeader, type RecordBody } from '../chassis/protocol/record.ts';
import { foldCore, type SessionCore, unknownSession } from '../chassis/protocol/session-core.ts';
import { acceptLive } from './live-acceptance.ts';
import { bodyOfRecord } from './record-body.ts';

/** One session log among those of its partition. */
export class SessionFold {
  /** Offset of the first record of the session: who goes on later has to begin there. -1 before it. */
  first = -1;
  private readonly acceptance: AcceptanceState = {};
  private readonly session: string;
  private core: SessionCore;

  constructor(session: string) {
    this.session = session;
    this.core = unknownSession(session);
  }

  /** What the record brings, by the rules of every reader. */
  take(record: LogRecord): readonly SeenEvent[] {
    const header = parseHeader(record.headers);
    if (header === undefined || !acceptLive(this.acceptance, header)) return [];
    if (header.session !== this.session) return [];
    const body = bodyOfRecord(record) as RecordBody | undefined;
    if (body === undefined) return [];
    if (this.first < 0) this.first = record.offset;
    const step = foldCore(this.core, { offset: record.offset, header, body });
    this.core = step.core;
    return step.events;
  }
}
