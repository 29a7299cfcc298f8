import { LongreinError } from '../chassis/errors.ts';
import { addressOf, type EventRow } from './row.ts';

/**
 * How a row becomes a line of JSONCompactEachRow. Values are checked here because the database does
 * not: a number too large for its column would be stored as another number, without an error, and
 * its parser does not always say which row it could not read.
 */
type Column = readonly [name: string, value: (row: EventRow) => unknown, check: Check];

/** What is wrong with a value; undefined if nothing is. */
type Check = (value: unknown) => string | undefined;

const uint8 = upTo(2 ** 8 - 1);
const uint16 = upTo(2 ** 16 - 1);
const uint32 = upTo(2 ** 32 - 1);
const uint64 = upTo(Number.MAX_SAFE_INTEGER);
/**
 * Up to the end of the year 2199; further on, partitions by month are not defined in every version.
 */
const time = upTo(Date.UTC(2200, 0) - 1);
const text: Check = (value) => (typeof value === 'string' ? undefined : 'not text');
const list: Check = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
    ? undefined
    : 'not a list of text';
const map: Check = (value) =>
  value !== null && typeof value === 'object' && list(Object.values(value)) === undefined
    ? undefined
    : 'not a map of text';

const columns: readonly Column[] = [
  ['tenant_id', (row) => row.tenantId, text],
  ['session_id', (row) => row.sessionId, text],
  ['k_topic', (row) => row.topic, text],
  ['k_partition', (row) => row.partition, uint16],
  ['k_offset', (row) => row.offset, uint64],
  ['event_index', (row) => row.index, uint16],
  ['record_id', (row) => row.recordId, text],
  ['kind', (row) => row.kind, text],
  ['effective', (row) => (row.effective ? 1 : 0), uint8],
  ['service', (row) => row.service, text],
  ['epoch', (row) => row.epoch, uint64],
  ['incarnation', (row) => row.incarnation, text],
  ['sequence', (row) => row.sequence, uint64],
  ['base', (row) => row.base, text],
  ['foreseen', (row) => row.foreseen, list],
  ['causes', (row) => row.causes, list],
  ['behaviour', (row) => row.behaviour, uint32],
  ['release', (row) => row.release, text],
  ['type', (row) => row.type, text],
  ['schema_version', (row) => row.schemaVersion, uint16],
  ['at', (row) => row.atMs, time],
  ['principal', (row) => row.principal, text],
  ['labels', (row) => row.labels, map],
  ['agent_id', (row) => row.agentId, text],
  ['agent_type', (row) => row.agentType, text],
  ['task_id', (row) => row.taskId, text],
  ['call_id', (row) => row.callId, text],
  ['pool', (row) => row.pool, text],
  ['provider', (row) => row.provider, text],
  ['model', (row) => row.model, text],
  ['tool', (row) => row.tool, text],
  ['status', (row) => row.status, text],
  ['error_code', (row) => row.errorCode, text],
  ['error_class', (row) => row.errorClass, text],
  ['finish_reason', (row) => row.finishReason, text],
  ['attempt', (row) => row.attempt, uint16],
  ['task_attempt', (row) => row.taskAttempt, uint16],
  ['step', (row) => row.step, uint32],
  ['tool_version', (row) => row.toolVersion, text],
  ['isolation', (row) => row.isolation, text],
  ['sandbox_id', (row) => row.sandboxId, text],
  ['requested_at', (row) => row.requestedAtMs, time],
  ['tokens_in', (row) => row.tokensIn, uint32],
  ['tokens_out', (row) => row.tokensOut, uint32],
  ['tokens_cache_read', (row) => row.tokensCacheRead, uint32],
  ['tokens_cache_write', (row) => row.tokensCacheWrite, uint32],
  ['tokens_reasoning', (row) => row.tokensReasoning, uint32],
  ['cost_nano_usd', (row) => row.costNanoUsd, uint64],
  ['price_version', (row) => row.priceVersion, text],
  ['duration_us', (row) => row.durationUs, uint64],
  ['trace_id', (row) => row.traceId, text],
  ['span_id', (row) => row.spanId, text],
  ['data', (row) => row.data, text],
  ['content', (row) => row.content, text],
  ['record', (row) => row.record, text],
];

/** The columns that a line gives, in order; the others have defaults. */
export const columnNames: readonly string[] = columns.map(([name]) => name);

/** The row as one line. Throws `EVENT_ROW_INVALID` with the row's address and the column. */
export function encodeRow(row: EventRow): string {
  const values: unknown[] = [];
  for (const [name, read, check] of columns) {
    const value = read(row);
    const problem = check(value);
    if (problem !== undefined) throw invalidRow(row, `${name} is ${problem}`);
    values.push(check === time ? timeText(Number(value)) : value);
  }
  return `${JSON.stringify(values)}\n`;
}

/** A row that can never be stored as it is; the same row fails again. */
export function invalidRow(row: EventRow, problem: string): LongreinError {
  const message = `Event ${addressOf(row)} cannot be stored: ${problem}`;
  const fix = `See what wrote that record of the log (type "${row.type}", id ${row.recordId}).`;
  return new LongreinError('EVENT_ROW_INVALID', message, { fix });
}

function upTo(max: number): Check {
  return (value) =>
    Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= max
      ? undefined
      : `${String(value)}, not a whole number from 0 to ${max}`;
}

/** `YYYY-MM-DD hh:mm:ss.mmm`, which every version of the database reads the same. */
function timeText(atMs: number): string {
  return new Date(atMs).toISOString().replace('T', ' ').slice(0, -1);
}
