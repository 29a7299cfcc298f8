import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { StreamChunk } from 'chdb';
import { type EngineException, toException } from './exception.ts';
import type { StatementRequest } from './request.ts';
import type { Counts, Outcome } from './run.ts';

/**
 * Headers of every answer. Returns the tag that marks an error in the middle of this answer's rows.
 */
export function open(response: ServerResponse): string {
  const tag = randomBytes(8).toString('hex');
  response.setHeader('X-ClickHouse-Server-Display-Name', 'longrein-embedded');
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  response.setHeader('X-ClickHouse-Exception-Tag', tag);
  return tag;
}

/**
 * Sends the answer. Rows go out as they come; the reader sets the pace. Throws what the engine said
 * before the first row, and when the reader goes away; nothing of the stream runs any more when it
 * returns or throws.
 */
export async function send(
  response: ServerResponse,
  outcome: Outcome,
  context: { request: StatementRequest; tag: string },
): Promise<void> {
  if (outcome.kind === 'whole') {
    head(response, outcome, context.request.gzip);
    return pour([outcome.bytes], response, context.request.gzip);
  }
  const blocks = outcome.stream[Symbol.asyncIterator]();
  response.once('close', () => outcome.stream.cancel());
  try {
    // Waiting for the first block gives an error before it a status of its own.
    const first = await blocks.next();
    head(response, outcome, context.request.gzip);
    await pour(rowsOf(first, blocks, context.tag), response, context.request.gzip);
  } finally {
    // Waits for a block that is being computed, so that its thread is free when the slot is.
    await blocks.return?.();
  }
}

function pour(
  rows: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  response: ServerResponse,
  gzip: boolean,
): Promise<void> {
  return gzip ? pipeline(rows, createGzip({ level: 1 }), response) : pipeline(rows, response);
}

async function* rowsOf(
  first: IteratorResult<StreamChunk>,
  blocks: AsyncIterator<StreamChunk>,
  tag: string,
): AsyncGenerator<Uint8Array, void> {
  try {
    for (let block = first; block.done !== true; block = await blocks.next()) {
      yield block.value.raw();
    }
  } catch (thrown) {
    yield trailer(toException(thrown), tag);
  }
}

/** Sends an error; nothing of the answer was sent yet. Throws when the reader goes away. */
export function sendException(response: ServerResponse, error: EngineException): Promise<void> {
  response.statusCode = error.status;
  response.setHeader('X-ClickHouse-Exception-Code', String(error.code));
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  return pour([Buffer.from(`${error.text}\n`)], response, false);
}

/**
 * An error after rows were sent: a block at the very end that no row looks like, with its length
 * behind it.
 */
function trailer(error: EngineException, tag: string): Buffer {
  const text = Buffer.from(`${error.text}\n`);
  const before = Buffer.from(`\r\n__exception__\r\n${tag}\r\n`);
  const after = Buffer.from(`${text.length} ${tag}\r\n__exception__\r\n`);
  return Buffer.concat([before, text, after]);
}

function head(response: ServerResponse, outcome: Outcome, gzip: boolean): void {
  response.setHeader('Content-Type', contentType(outcome.format));
  response.setHeader('X-ClickHouse-Format', outcome.format);
  if (outcome.kind === 'whole') response.setHeader('X-ClickHouse-Summary', summary(outcome.counts));
  if (gzip) response.setHeader('Content-Encoding', 'gzip');
}

function summary(counts: Counts): string {
  return JSON.stringify({
    read_rows: String(counts.readRows),
    read_bytes: String(counts.readBytes),
    written_rows: String(counts.writtenRows),
    written_bytes: String(counts.writtenBytes),
    total_rows_to_read: '0',
    result_rows: '0',
    result_bytes: '0',
  });
}

function contentType(format: string): string {
  if (/EachRow|JSONLines|NDJSON/i.test(format)) return 'application/x-ndjson; charset=UTF-8';
  if (/^JSON/i.test(format)) return 'application/json; charset=UTF-8';
  if (/^CSV/i.test(format)) return 'text/csv; charset=UTF-8; header=absent';
  if (/^(TSV|TabSeparated)/i.test(format)) return 'text/tab-separated-values; charset=UTF-8';
  return /^(Parquet|Arrow|Native|RowBinary|ORC|Avro)/i.test(format)
    ? 'application/octet-stream'
    : 'text/plain; charset=UTF-8';
}
