import { setTimeout as sleep } from 'node:timers/promises';
import type { EventType, SeenEvent } from '../../schemas/event.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { type AcceptanceState, accept } from '../../services/chassis/protocol/acceptance.ts';
import { parseHeader, type RecordBody } from '../../services/chassis/protocol/record.ts';
import {
  foldCore,
  type SessionCore,
  unknownSession,
} from '../../services/chassis/protocol/session-core.ts';
import type { LiveStack } from './live-stack.ts';
import { jsonOf, TopicTail } from './topic-tail.ts';
import * as work from './work-fixtures.ts';

/** What counts of a session, read from its log by the rules that every reader follows. */
export type SessionLog = Readonly<{
  events: readonly SeenEvent[];
  status: SessionCore['status'];
  records: readonly LogRecord[];
}>;

export const eventsOf = <T extends EventType>({ events }: SessionLog, type: T): SeenEvent<T>[] =>
  work.eventsOf(events, type);

/** For `SessionLogs.until`: whether so many of these events count by now. */
export const has =
  (type: EventType, count = 1) =>
  (log: SessionLog): boolean =>
    eventsOf(log, type).length >= count;

function fold(partition: readonly LogRecord[], session: string): SessionLog {
  const acceptance: AcceptanceState = {};
  const events: SeenEvent[] = [];
  let core = unknownSession(session);
  for (const record of partition) {
    const header = parseHeader(record.headers);
    if (header === undefined || !accept(acceptance, header)) continue;
    if (header.session !== session || !['turn', 'input'].includes(header.kind)) continue;
    const body = jsonOf(record) as RecordBody;
    const step = foldCore(core, { offset: record.offset, header, body });
    core = step.core;
    events.push(...step.events);
  }
  const records = partition.filter(({ headers }) => headers['ce_subject'] === session);
  return { events, status: core.status, records };
}

/** Reads session logs of a topic, from its start on. */
export class SessionLogs {
  private readonly tail: TopicTail;

  private constructor(tail: TopicTail) {
    this.tail = tail;
  }

  static async open(stack: LiveStack, topic = 'longrein.sessions.normal'): Promise<SessionLogs> {
    return new SessionLogs(await TopicTail.open(stack.brokers, [topic], true));
  }

  of(session: string): SessionLog {
    return fold(this.partitionOf(session), session);
  }

  /** All records of the partition that a session is in. */
  partitionOf(session: string): readonly LogRecord[] {
    const own = this.tail.records.find(({ headers }) => headers['ce_subject'] === session);
    return this.tail.records.filter((record) => record.partition === own?.partition);
  }

  /** Waits until the log of the session holds what is asked for. */
  async until(
    session: string,
    holds: (log: SessionLog) => boolean,
    withinMs = 30_000,
  ): Promise<SessionLog> {
    const startMs = performance.now();
    for (;;) {
      const log = this.of(session);
      if (holds(log)) return log;
      if (performance.now() - startMs > withinMs) {
        const types = log.events.map(({ type }) => type).join(' ');
        throw new Error(`${session} is ${log.status} after ${withinMs} ms: ${types}`);
      }
      await sleep(50);
    }
  }

  closed(session: string, withinMs = 30_000): Promise<SessionLog> {
    return this.until(session, ({ status }) => status === 'closed', withinMs);
  }

  close(): Promise<void> {
    return this.tail.close();
  }
}
