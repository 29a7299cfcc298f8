import type { LogRecord } from '../../services/chassis/log/port.ts';

/** What the record of agent loops takes, read from the log. */
export type LoopCosts = Readonly<{
  loops: number;
  appendsPerPair: number;
  recordsPerPair: number;
  bytesPerPair: number;
  /** The share of turns that went out with others, as one batch. */
  turnsFused: number;
}>;

/** What a record takes in the log, headers and all. */
export const bytesOf = ({ headers, value }: LogRecord): number =>
  Object.entries(headers).reduce(
    (sum, [name, text]) => sum + name.length + text.length,
    value?.length ?? 0,
  );

const isCall = ({ headers }: LogRecord): boolean =>
  /(model|tool)\./.test(headers['lr_types'] ?? '');

const batchOf = ({ headers }: LogRecord): string => headers['lr_batch'] ?? '';

/** Of each session the part from its first request to a model to the end of its loop. */
function loopsOf(records: readonly LogRecord[]): readonly (readonly LogRecord[])[] {
  const sessions = new Map<string, LogRecord[]>();
  for (const record of records) {
    const kind = record.headers['lr_kind'];
    if (kind !== 'turn' && kind !== 'input') continue;
    const session = record.headers['ce_subject'] ?? '';
    const known = sessions.get(session) ?? [];
    known.push(record);
    sessions.set(session, known);
  }
  return [...sessions.values()].map((all) =>
    all.slice(all.findIndex(isCall), all.findLastIndex(isCall) + 1),
  );
}

/** Of loops of so many pairs of a model call and a tool call. */
export function loopCosts(records: readonly LogRecord[], pairsPerLoop: number): LoopCosts {
  const loops = loopsOf(records);
  const all = loops.flat();
  const batches = new Map<string, number>();
  for (const record of all) batches.set(batchOf(record), (batches.get(batchOf(record)) ?? 0) + 1);
  const turns = all.filter(({ headers }) => headers['lr_kind'] === 'turn');
  const fused = turns.filter((turn) => (batches.get(batchOf(turn)) ?? 0) > 1);
  const pairs = loops.length * pairsPerLoop;
  return {
    loops: loops.length,
    appendsPerPair: batches.size / pairs,
    recordsPerPair: all.length / pairs,
    bytesPerPair: all.reduce((sum, record) => sum + bytesOf(record), 0) / pairs,
    turnsFused: fused.length / turns.length,
  };
}
