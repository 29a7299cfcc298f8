import { ClickHouseError } from '@clickhouse/client';
import { LongreinError, toError } from '../chassis/errors.ts';
import { invalidRow } from './columns.ts';
import type { EventRow } from './row.ts';

/**
 * What a failed insert means. Retryable: nothing is known to be wrong with the rows, and the same
 * insert with the same token is safe to repeat, whether the first one was written or not.
 * Everything else needs a person.
 */
export function insertFailure(thrown: unknown, rows: readonly EventRow[]): LongreinError {
  if (thrown instanceof LongreinError) return thrown;
  const cause = toError(thrown);
  if (!(cause instanceof ClickHouseError)) return unreachable(cause);
  if (busyCodes.has(cause.code)) return busy(cause);
  if (rowCodes.has(cause.code)) return badRow(cause, rows);
  return refused(cause);
}

/**
 * Time-out, memory, connections, disk, read-only table, keeper, merges behind, shutting down, queue
 * full.
 */
const busyCodes = new Set([
  '159',
  '201',
  '202',
  '209',
  '210',
  '225',
  '236',
  '241',
  '242',
  '243',
  '252',
  '285',
  '319',
  '373',
  '394',
  '425',
  '439',
  '999',
]);

/** The parser could not read a value. */
const rowCodes = new Set([
  '6',
  '25',
  '26',
  '27',
  '33',
  '38',
  '41',
  '53',
  '69',
  '70',
  '72',
  '117',
  '130',
  '131',
  '321',
  '349',
  '441',
  '467',
  '676',
]);

function unreachable(cause: Error): LongreinError {
  return new LongreinError(
    'EVENT_STORE_UNREACHABLE',
    `ClickHouse does not answer: ${cause.message}`,
    {
      fix: 'Check that ClickHouse runs and that its URL is right; nothing is lost meanwhile.',
      retryable: true,
      cause,
    },
  );
}

function busy(cause: ClickHouseError): LongreinError {
  const message = `ClickHouse is busy (${cause.code} ${cause.type}): ${cause.message}`;
  const fix =
    'It is tried again by itself. If it lasts, look at its memory, disk and running merges.';
  return new LongreinError('EVENT_STORE_BUSY', message, { fix, retryable: true, cause });
}

/**
 * The parser's own message quotes the data, which does not belong into logs: only the place is
 * kept.
 */
function badRow(cause: ClickHouseError, rows: readonly EventRow[]): LongreinError {
  const number = Number(/\(at row (\d+)\)/.exec(cause.message)?.[1]);
  const column = /value of key (\w+)/.exec(cause.message)?.[1] ?? 'a column';
  const problem = `ClickHouse cannot read ${column} (${cause.code} ${cause.type})`;
  const row = rows[number - 1];
  if (row !== undefined) return invalidRow(row, problem);
  const fix = 'Compare the columns of longrein.events with the migrations of this release.';
  return new LongreinError('EVENT_STORE_REFUSED', problem, { fix });
}

function refused(cause: ClickHouseError): LongreinError {
  const message = `ClickHouse refuses the events (${cause.code} ${cause.type}): ${cause.message}`;
  const fix =
    cause.code === '60' || cause.code === '81' || cause.code === '16'
      ? 'Migrate the database to the schema of this release.'
      : 'Check the user, its rights and the schema of ClickHouse.';
  return new LongreinError('EVENT_STORE_REFUSED', message, { fix, cause });
}
