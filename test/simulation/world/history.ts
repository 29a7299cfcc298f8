import type { BlobPort } from '../../../services/chassis/content/blobs.ts';
import { readBodyPatiently } from '../../../services/chassis/host/read-body.ts';
import type { Codec } from '../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../services/chassis/log/port.ts';
import { type AcceptanceState, accept } from '../../../services/chassis/protocol/acceptance.ts';
import { foreseeing } from '../../../services/chassis/protocol/fusing.ts';
import { type PlacedRecord, parseHeader } from '../../../services/chassis/protocol/record.ts';
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

import type { Logics } from './logics.ts';

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

/** A turn with what its service knew: at its base, and with the turns that it foresaw (`entry`). */
export type TurnSeen = Readonly<{
  line: Line;
  seen: Readonly<{ base: ServiceEntry; entry: ServiceEntry }> | undefined;
}>;

export type LogOf = Readonly<{ topic: string; partition: number; records: readonly LogRecord[] }>;

/** Whose view of which session; the behaviour says of which release. */
export type View = Readonly<{ service: string; session: string; behaviour?: number }>;

export type HistoryParts = Readonly<{ codec: Codec; blobs: BlobPort; logics: Logics }>;

const silent = () => undefined;
const noLogger = { debug: silent, info: silent, warn: silent, error: silent };
const noClock = { nowMs: () => 0, after: () => silent };

/** So many of them, in the order of their offsets, stand below this one. */
function countBelow<T>(all: readonly T[], offsetOf: (one: T) => number, offset: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsetOf(all[middle] as T) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The whole log, read from its start with the protocol's own functions: what everything else is measured by. */
export class History {
  readonly lines: Line[] = [];
  readonly sessions = new Map<string, SessionHistory>();
  /** Records that nobody can read, and records of other programs: `topic/partition@offset`. */
  readonly strange = new Set<string>();
  readonly #parts: HistoryParts;
  readonly #folds = new Map<string, readonly Fold[]>();
  #turns: readonly TurnSeen[] | undefined;

  private constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  static async read(logs: readonly LogOf[], parts: HistoryParts): Promise<History> {
    const history = new History(parts);
    for (const log of logs) await history.#read(log);
    return history;
  }

  async #read({ topic, partition, records }: LogOf): Promise<void> {
    const acceptance: AcceptanceState = {};
    const ports = { ...this.#parts, logger: noLogger, clock: noClock };
    for (const record of records) {
      const { offset, timestampMs } = record;
      const header = parseHeader(record.headers);
      const accepted = header !== undefined && accept(acceptance, header);
      const body = header === undefined ? undefined : await readBodyPatiently(record, ports);
      if (header === undefined || body === undefined) {
        this.strange.add(`${topic}/${partition}@${offset}`);
        continue;
      }
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

  /** The logic of a service as the release with this behaviour has it; without one, as the code is. */
  logicOf(service: string, behaviour?: number): AnyLogic | undefined {
    const known = this.#parts.logics.get(service);
    const own = known?.byBehaviour.get(behaviour ?? known.logic.behaviour);
    return own ?? known?.logic;
  }

  /** Names of the services that work on sessions of this topic. */
  servicesOf(topic: string): readonly string[] {
    const { logics } = this.#parts;
    return [...logics].filter(([, one]) => one.topics.includes(topic)).map(([name]) => name);
  }

  /** A service's view of a session, record by record. */
  foldsOf(service: string, session: string, behaviour?: number): readonly Fold[] {
    const logic = this.logicOf(service, behaviour);
    if (logic === undefined) throw new Error(`no logic of ${service}`);
    const key = `${service} ${logic.behaviour} ${session}`;
    const known = this.#folds.get(key);
    if (known !== undefined) return known;
    const folds = this.#fold(logic, session);
    this.#folds.set(key, folds);
    return folds;
  }

  #fold(logic: AnyLogic, session: string): Fold[] {
    let entry = newEntry(logic, session);
    return (this.sessions.get(session)?.lines ?? []).map((line) => {
      entry = foldEntry(logic, entry, { record: line, step: line.step });
      return { line, entry };
    });
  }

  /** The view before the record at this offset. */
  entryBefore(view: View, offset: number): ServiceEntry | undefined {
    const folds = this.foldsOf(view.service, view.session, view.behaviour);
    return folds[countBelow(folds, ({ line }) => line.offset, offset) - 1]?.entry;
  }

  /** What all services know of a session before the record at this offset. */
  coreBefore(session: string, offset: number): SessionCore | undefined {
    const lines = this.sessions.get(session)?.lines ?? [];
    return lines[countBelow(lines, (line) => line.offset, offset) - 1]?.step.core;
  }

  /** Effective turns with the view of their service at their base. */
  turns(): readonly TurnSeen[] {
    this.#turns ??= [...this.sessions.values()].flatMap((session) => this.#turnsOf(session));
    return this.#turns;
  }

  #turnsOf({ session, lines }: SessionHistory): TurnSeen[] {
    const effective = lines.filter(({ step }) => step.events.length > 0);
    const byId = new Map(effective.map((line) => [line.header.id, line]));
    return lines.flatMap((line): TurnSeen[] => {
      const { body, step } = line;
      if (body.kind !== 'turn' || step.events.length === 0) return [];
      const view = { service: body.service, session, behaviour: body.behaviour };
      const base = this.entryBefore(view, body.baseOffset + 1);
      const logic = this.logicOf(body.service, body.behaviour);
      if (base === undefined || logic === undefined) return [{ line, seen: undefined }];
      const records = body.foreseen.flatMap((id) => byId.get(id) ?? []);
      return [{ line, seen: { base, entry: foreseeing(logic, base, records) } }];
    });
  }
}
