import type { HostPorts } from '../../services/chassis/host/ports.ts';
import { Watermarks } from '../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import type { Bounds, LogPort, LogRecord, PartitionName } from '../../services/chassis/log/port.ts';
import {
  type AcceptanceState,
  accept,
  copyAcceptance,
} from '../../services/chassis/protocol/acceptance.ts';
import { parseHeader, type RecordHeader } from '../../services/chassis/protocol/record.ts';
import { boundsIfThere } from './lane-table.ts';
import { readPartition } from './partition-reader.ts';

/** One partition of a session log, as its headers tell it. */
export type PartitionSessions = PartitionName &
  Readonly<{ records: number; open: readonly string[] }>;

/** A malformed header is one of another program, for every reader alike. */
function headerOf(record: LogRecord): RecordHeader | undefined {
  try {
    return parseHeader(record.headers);
  } catch {
    return undefined;
  }
}

const openings = ['session.opened', 'session.forked', 'goal.received', 'key.requested'];

const opens = ({ kind, types }: RecordHeader): boolean =>
  kind === 'checkpoint' || (kind === 'input' && types.some((type) => openings.includes(type)));

/** Folds headers only: which sessions have begun and not closed. */
export class OpenSessions {
  private readonly acceptance: AcceptanceState;
  private readonly closed: Set<string>;
  private readonly open = new Set<string>();

  constructor(acceptance: AcceptanceState, closed: Iterable<string>) {
    this.acceptance = copyAcceptance(acceptance);
    this.closed = new Set(closed);
  }

  take(header: RecordHeader): void {
    if (!accept(this.acceptance, header) || this.closed.has(header.session)) return;
    if (opens(header)) this.open.add(header.session);
    if (header.kind !== 'turn' || !header.types.includes('session.closed')) return;
    this.open.delete(header.session);
    this.closed.add(header.session);
  }

  get sessions(): readonly string[] {
    return [...this.open].sort();
  }
}

type Start = Readonly<{ offset: number; acceptance: AcceptanceState; closed: readonly string[] }>;

/**
 * Below the lowest mark nobody needs anything: what is open stands above it, by its opening or by a checkpoint. What was
 * trimmed, or given up by a reset, is not read either, as hosts do not (DESIGN 3.11).
 */
function startOf(watermarks: Watermarks, at: PartitionName, bounds: Bounds): Start {
  const closed = watermarks.closedAt(at).flatMap(({ sessions }) => Object.keys(sessions));
  const [lowest] = [...watermarks.at(at)].sort((a, b) => a.offset - b.offset);
  const trim = watermarks.trimAt(at);
  const known = trim !== undefined && trim.offset > (lowest?.offset ?? -1) ? trim : lowest;
  if (known === undefined || known.offset < bounds.low)
    return { offset: bounds.low, acceptance: {}, closed };
  return { offset: known.offset, acceptance: known.acceptance, closed };
}

/** Which sessions of these topics are open now, by partition. Topics that are not there have none. */
export async function readOpenSessions(
  log: LogPort,
  logger: HostPorts['logger'],
  topics: readonly string[],
): Promise<readonly PartitionSessions[]> {
  const watermarks = new Watermarks({ log, logger, codec: createFixedCodec() });
  await watermarks.start();
  const found: PartitionSessions[] = [];
  try {
    await watermarks.current();
    for (const topic of topics)
      for (const [partition, bounds] of await boundsIfThere(log, topic)) {
        const at = { topic, partition };
        const { offset, acceptance, closed } = startOf(watermarks, at, bounds);
        const fold = new OpenSessions(acceptance, closed);
        for await (const record of readPartition(log, at, { low: offset, high: bounds.high })) {
          const header = headerOf(record);
          if (header !== undefined) fold.take(header);
        }
        found.push({ ...at, records: bounds.high - bounds.low, open: fold.sessions });
      }
  } finally {
    await watermarks.stop();
  }
  return found;
}
