import type { BlobPort } from '../../../services/chassis/content/blobs.ts';
import type { Codec } from '../../../services/chassis/log/codec.ts';
import type { LogRecord } from '../../../services/chassis/log/port.ts';
import type { LogLine } from '../../support/quiet-ports.ts';
import type { TrimSeen } from './archive.ts';
import type { Coverage } from './coverage.ts';
import type { LedgerEntry } from './effects.ts';
import type { History } from './history.ts';
import type { Logics } from './logics.ts';
import type { PartitionSeen } from './probe.ts';
import type { Schedule } from './schedule-shape.ts';
import type { SinkTable } from './sink-table.ts';
import type { Witness } from './witness.ts';

/** Everything that checkers look at. */
export type Run = Readonly<{
  schedule: Schedule;
  history: History;
  logics: Logics;
  published: readonly string[];
  results: readonly LogRecord[];
  /** What was told of parts of plans before their results. */
  parts: readonly LogRecord[];
  watermarks: readonly LogRecord[];
  presence: readonly LogRecord[];
  deadLetters: readonly LogRecord[];
  witness: Witness;
  /** All records of the session topics, by `topic/partition`. */
  logs: ReadonlyMap<string, readonly LogRecord[]>;
  ledger: readonly LedgerEntry[];
  /** States of hosts as they were at some moments. */
  seen: readonly (PartitionSeen & { host: string })[];
  lines: readonly Readonly<{ host: string; lines: readonly LogLine[] }>[];
  fatal: readonly Error[];
  coverage: Coverage;
  codec: Codec;
  blobs: BlobPort;
  /** Rows that the event stores wrote. */
  sink: SinkTable;
  /** What janitors deleted. */
  trims: readonly TrimSeen[];
  /** Records that were made unreadable on purpose: `topic/partition@offset`. */
  poisoned: ReadonlySet<string>;
  /** Over every record of every topic but heartbeats: key, headers, bytes. */
  fingerprint: string;
  /** The world's own time when it began. */
  startedMs: number;
  /** Virtual milliseconds from the calm to the end. */
  calmMs: number;
  /** It was broken off: requests without end. */
  runaway: boolean;
}>;
