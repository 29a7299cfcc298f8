import { Readable } from 'node:stream';
import type { ClickHouseClient } from '@clickhouse/client';
import { InvariantError, LongreinError } from '../chassis/errors.ts';
import { columnNames, encodeRow } from './columns.ts';
import { insertFailure } from './insert-failure.ts';
import { restoreLostRows } from './lost-rows.ts';
import type { EventRow } from './row.ts';

/** The table `longrein.events` as the sink writes it. */
export type EventTable = Readonly<{
  /**
   * Writes the rows once. The token names this list of rows for good: the same token with the same
   * rows again is dropped by the database, with other rows it would lose them without a word.
   * Throws `LongreinError`: `EVENT_STORE_UNREACHABLE`, `EVENT_STORE_BUSY` (both retryable),
   * `EVENT_ROW_INVALID` (names the row), `EVENT_STORE_REFUSED`.
   */
  insertBatch(rows: readonly EventRow[], token: string): Promise<void>;
  /**
   * Of rows that were inserted more than once: writes what the database dropped as a repetition and does not have. Answers
   * how many rows that were. Throws as `insertBatch` does.
   */
  restoreLost(rows: readonly EventRow[]): Promise<number>;
}>;

/**
 * Bytes of one request. Larger batches are cut into parts with tokens of their own; where they are
 * cut depends on the rows alone, so a repetition is cut the same. Never change it: a batch that was
 * half written by the release before would be cut otherwise and written twice.
 */
const partBytesMax = 32 * 1024 * 1024;

const settings = {
  // One insert is one block, on disk when the answer comes.
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  // A lone half of a surrogate pair is kept as it stands; by default it would make the row
  // unreadable.
  input_format_json_throw_on_bad_escape_sequence: 0,
} as const;

const names = columnNames.join(', ');
const statementFor = (table: string): string =>
  `INSERT INTO ${table} (${names}) FORMAT JSONCompactEachRow`;

type Part = { rows: EventRow[]; lines: string[]; bytes: number };

/** Writes through this client, which it does not close. */
export function createEventTable(client: ClickHouseClient): EventTable {
  return {
    async insertBatch(rows, token) {
      if (token === '') throw new InvariantError('A batch of events needs a deduplication token');
      for (const [number, part] of partsOf(rows).entries()) {
        const name = number === 0 ? token : `${token}/${number}`;
        await insertPart(client, part, { table: 'longrein.events', token: name });
      }
    },
    async restoreLost(rows) {
      try {
        return await restoreLostRows(client, rows, async (missing, table) => {
          for (const [number, part] of partsOf(missing).entries())
            await insertPart(client, part, { table, token: String(number) });
        });
      } catch (thrown) {
        throw thrown instanceof LongreinError ? thrown : insertFailure(thrown, rows);
      }
    },
  };
}

function partsOf(rows: readonly EventRow[]): readonly Part[] {
  const parts: Part[] = [];
  for (const row of rows) {
    const line = encodeRow(row);
    const bytes = Buffer.byteLength(line);
    let part = parts.at(-1);
    if (part === undefined || part.bytes + bytes > partBytesMax) {
      part = { rows: [], lines: [], bytes: 0 };
      parts.push(part);
    }
    part.rows.push(row);
    part.lines.push(line);
    part.bytes += bytes;
  }
  return parts;
}

async function insertPart(
  client: ClickHouseClient,
  part: Part,
  { table, token }: Readonly<{ table: string; token: string }>,
): Promise<void> {
  try {
    const { stream } = await client.exec({
      query: statementFor(table),
      values: Readable.from([Buffer.from(part.lines.join(''))], { objectMode: false }),
      clickhouse_settings: { ...settings, insert_deduplication_token: token },
    });
    // The answer is empty; reading it to its end frees the connection and shows an error that came
    // late.
    for await (const _ of stream);
  } catch (thrown) {
    throw insertFailure(thrown, part.rows);
  }
}
