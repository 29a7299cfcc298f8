import type { Codec } from '../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../services/chassis/log/port.ts';
import { type AcceptanceState, accept } from '../../../services/chassis/protocol/acceptance.ts';
import {
  type PlacedRecord,
  parseHeader,
  type RecordBody,
} from '../../../services/chassis/protocol/record.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
} from '../../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';
import {
  type CoreStep,
  foldCore,
  type SessionCore,
  unknownSession,
} from '../../../services/chassis/protocol/session-core.ts';

/** A record of a session log with what every reader makes of it. */
export type Line = PlacedRecord &
  Readonly<{
    topic: string;
    partition: number;
    /** When the broker wrote it. */
    timestampMs: number;
    accepted: boolean;
    step: CoreStep;
  }>;

/** One session: its accepted turns and inputs in order, each with the core after it. */
export type SessionHistory = {
  readonly session: string;
  readonly topic: string;
  readonly partition: number;
  readonly lines: Line[];
  core: SessionCore;
};

/** A service's view after the record at `offset`. */
export type Fold = Readonly<{ line: Line; entry: ServiceEntry }>;

export type LogOf = Readonly<{ topic: string; partition: number; records: readonly LogRecord[] }>;

/** The whole log, read from its start with the protocol's own functions: what everything else is measured by. */
export class History {
  readonly lines: Line[] = [];
  readonly sessions = new Map<string, SessionHistory>();
  readonly #logics: ReadonlyMap<string, { logic: AnyLogic; topics: readonly string[] }>;
  readonly #folds = new Map<string, readonly Fold[]>();

  constructor(
    logs: readonly LogOf[],
    parts: {
      codec: Codec;
      logics: ReadonlyMap<string, { logic: AnyLogic; topics: readonly string[] }>;
    },
  ) {
    this.#logics = parts.logics;
    for (const log of logs) this.#read(log, parts.codec);
  }

  #read({ topic, partition, records }: LogOf, codec: Codec): void {
    const acceptance: AcceptanceState = {};
    for (const { headers, value, offset, timestampMs } of records) {
      const header = parseHeader(headers);
      if (header === undefined || value === null) continue;
      const body = codec.decode(value).body as RecordBody;
      const accepted = accept(acceptance, header);
      const read = { topic, partition, offset, timestampMs, header, body, accepted };
      this.lines.push({ ...read, step: this.#place(read) });
    }
  }

  #place(read: Omit<Line, 'step'>): CoreStep {
    const { header, accepted, topic, partition } = read;
    const { session, kind } = header;
    if (kind !== 'turn' && kind !== 'input') return { core: unknownSession(session), events: [] };
    const known = this.sessions.get(session);
    const history = known ?? {
      session,
      topic,
      partition,
      lines: [],
      core: unknownSession(session),
    };
    if (!accepted) return { core: history.core, events: [], ignored: 'not-accepted' };
    const step = foldCore(history.core, read);
    history.core = step.core;
    history.lines.push({ ...read, step });
    this.sessions.set(session, history);
    return step;
  }

  logicOf(service: string): AnyLogic | undefined {
    return this.#logics.get(service)?.logic;
  }

  /** Names of the services that work on sessions of this topic. */
  servicesOf(topic: string): readonly string[] {
    return [...this.#logics].filter(([, one]) => one.topics.includes(topic)).map(([name]) => name);
  }

  /** A service's view of a session, record by record. */
  foldsOf(service: string, session: string): readonly Fold[] {
    const key = `${service} ${session}`;
    const known = this.#folds.get(key);
    if (known !== undefined) return known;
    const folds = this.#fold(service, session);
    this.#folds.set(key, folds);
    return folds;
  }

  #fold(service: string, session: string): Fold[] {
    const logic = this.logicOf(service);
    if (logic === undefined) throw new Error(`no logic of ${service}`);
    let entry = newEntry(logic, session);
    return (this.sessions.get(session)?.lines ?? []).map((line) => {
      entry = foldEntry(logic, entry, { record: line, step: line.step });
      return { line, entry };
    });
  }

  /** The view before the record at this offset. */
  entryBefore(service: string, session: string, offset: number): ServiceEntry | undefined {
    const folds = this.foldsOf(service, session);
    let found: ServiceEntry | undefined;
    for (const { line, entry } of folds) {
      if (line.offset >= offset) break;
      found = entry;
    }
    return found;
  }

  /** Effective turns with the view of their service at their base. */
  *turns(): Iterable<Readonly<{ line: Line; base: ServiceEntry | undefined }>> {
    for (const { session, lines } of this.sessions.values()) {
      for (const line of lines) {
        const { body, step } = line;
        if (body.kind !== 'turn' || step.events.length === 0) continue;
        const base = this.entryBefore(body.service, session, body.baseOffset + 1);
        yield { line, base };
      }
    }
  }
}
