import { LongreinError, toError } from '../chassis/errors.ts';
import type { Clock, Logger } from '../chassis/host/ports.ts';
import type { EventTable } from './clickhouse.ts';
import type { EventRow } from './row.ts';

/** One fixed range on its way into the table. */
export type Insertion = Readonly<{
  token: string;
  /** The rows, as soon as they are read. */
  rows(): Promise<readonly EventRow[]>;
  /**
   * `shutdown` ends it between two attempts, `cancelled` because somebody else stored the range.
   */
  signal: AbortSignal;
  /** Somebody may have inserted it before, and not have heard what became of that. */
  again?: boolean;
}>;

export type InserterParts = Readonly<{
  table: EventTable;
  clock: Clock;
  logger: Logger;
  /** Resolves when the table has the shape that the rows need. */
  prepared: Promise<void>;
  /** An insert succeeded, and took so long. */
  onInserted?(durationMs: number): void;
}>;

export type Inserter = Readonly<{
  /**
   * Resolves with the number of rows when the range is stored, by this process or by another. Tries
   * for ever; rejects with RANGE_NOT_STORED only because the process ends.
   */
  store(insertion: Insertion): Promise<number>;
}>;

/** Inserts at a time: more only wait at the database. */
const insertsMax = 4;
const firstDelayMs = 100;
const delayMsMax = 5_000;
/** What needs a person is not asked for often. */
const refusedDelayMs = 30_000;

export function createInserter(parts: InserterParts): Inserter {
  const gate = createGate(insertsMax);
  return {
    async store(insertion) {
      let rows: readonly EventRow[] | undefined;
      for (let attempt = 1; ; attempt += 1) {
        if (isOver(insertion.signal)) return rows?.length ?? 0;
        try {
          await ended(parts.prepared, insertion.signal);
          rows ??= await ended(insertion.rows(), insertion.signal);
          const batch = rows;
          await gate(async () => {
            // What waited for its turn may have become needless; what has begun is never broken
            // off.
            if (isOver(insertion.signal)) return;
            const startedMs = parts.clock.nowMs();
            await parts.table.insertBatch(batch, insertion.token);
            if (attempt > 1 || insertion.again === true) await restoreLost(parts, insertion, batch);
            parts.onInserted?.(parts.clock.nowMs() - startedMs);
          });
          if (attempt > 1)
            parts.logger.info({ range: insertion.token, attempt }, 'range stored at last');
          return batch.length;
        } catch (thrown) {
          if (thrown === over) continue;
          await ended(failed(parts, { insertion, attempt, thrown }), insertion.signal).catch(
            ignoreOver,
          );
        }
      }
    },
  };
}

/** The engine may have been killed in an insert of before. */
async function restoreLost(
  { table, logger }: InserterParts,
  { token }: Insertion,
  rows: readonly EventRow[],
): Promise<void> {
  const lost = await table.restoreLost(rows);
  if (lost > 0)
    logger.warn({ range: token, rows: lost }, 'rows that the engine lost: written again');
}

/** Whether another claim has stored the range. Throws when the process ends. */
function isOver(signal: AbortSignal): boolean {
  if (!signal.aborted || signal.reason === 'deadline') return false;
  if (signal.reason === 'cancelled') return true;
  throw new LongreinError('RANGE_NOT_STORED', 'the process ends before the range is stored', {
    retryable: true,
  });
}

/** Says what went wrong and waits for the next attempt. */
function failed(
  { clock, logger }: InserterParts,
  { insertion, attempt, thrown }: { insertion: Insertion; attempt: number; thrown: unknown },
): Promise<void> {
  const error = toError(thrown);
  const known = error instanceof LongreinError ? error : undefined;
  const retryable = known?.retryable === true;
  const fields = { range: insertion.token, attempt, error: error.message };
  const more = known === undefined ? {} : { code: known.code, fix: known.fix };
  // The first failure and then ever fewer: an outage is one story, not thousands.
  if (!retryable) logger.error({ ...fields, ...more }, 'range cannot be stored; trying on');
  else if (Number.isInteger(Math.log2(attempt)))
    logger.warn({ ...fields, ...more }, 'range not stored yet; trying on');
  const backOffMs = Math.min(delayMsMax, firstDelayMs * 2 ** Math.min(attempt - 1, 16));
  return new Promise((resolve) => {
    clock.after(retryable ? backOffMs : refusedDelayMs, resolve);
  });
}

const over = Symbol('over');
const ignoreOver = (thrown: unknown): void => {
  if (thrown !== over) throw thrown;
};

/** The promise, or `over` thrown as soon as the signal ends the insertion. */
function ended<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      if (signal.reason !== 'deadline') reject(over);
    };
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    if (signal.aborted) stop();
  });
}

type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets so many in at a time, in the order of asking. */
function createGate(most: number): Gate {
  let inside = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (inside >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else inside += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) inside -= 1;
      else next();
    }
  };
}
