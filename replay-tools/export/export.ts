import { createHash } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import type { Content } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { type ContentSeal, sealed } from '../../services/chassis/content/content-keys.ts';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { accept, copyAcceptance } from '../../services/chassis/protocol/acceptance.ts';
import { sha256 } from '../../services/chassis/protocol/hash.ts';
import type { RecordBody } from '../../services/chassis/protocol/record.ts';
import { contentsOf, withContents } from '../read/contents.ts';
import { type SessionSource, type SourceRecord, sessionUnknown } from '../read/source.ts';
import {
  type ContentItem,
  type ExportItem,
  exportVersion,
  formatLine,
  type OtherItem,
} from './format.ts';

/** A session as one file: everything that `verify` and `show` need, each content once. */

/** Contents up to this size stay where they are; a line of their own would be longer. */
const inlineBytesMax = 256;

/** `seal`: of a session with a key; its contents are in the file as they are in the log. */
export type ExportOptions = Readonly<{ release: string; seal?: ContentSeal | undefined }>;

function otherItem({ offset, header }: SourceRecord): OtherItem {
  const { kind, id, service, services, epoch, incarnation, sequence } = header;
  return { other: { offset, kind, id, service, services, epoch, incarnation, sequence } };
}

/** The past that a fork shares has another session's key. */
function withoutPast(body: RecordBody): RecordBody {
  if (body.kind !== 'input' || body.past === undefined) return body;
  const { past: _sealed, ...rest } = body;
  return rest;
}

/** Takes contents out of records, each the first time that it comes. Those of a session with a key go out sealed. */
class ContentShelf {
  private readonly known = new Map<string, string>();
  private readonly seal: ContentSeal | undefined;

  constructor(seal: ContentSeal | undefined) {
    this.seal = seal;
  }

  *items(record: SourceRecord): Generator<ExportItem> {
    if (record.body === undefined) {
      yield { record };
      return;
    }
    for (const { content } of contentsOf(record.body)) {
      if (content.body === undefined || content.bytes <= inlineBytesMax) continue;
      if (this.known.has(content.digest)) continue;
      this.known.set(content.digest, this.textSum(content.body));
      yield this.lineOf(content, content.body);
    }
    const body = withContents(record.body, (content) => {
      if (content.body === undefined) return content;
      // Two bodies under one digest are what an export must not hide.
      if (this.known.get(content.digest) !== this.textSum(content.body))
        return this.seal === undefined ? content : sealed(content, this.seal);
      const { body: _shelved, ...rest } = content;
      return rest;
    });
    yield { record: { ...record, body: this.seal === undefined ? body : withoutPast(body) } };
  }

  private lineOf(content: Content, body: JsonValue): ContentItem {
    const { digest } = content;
    if (this.seal === undefined) return { content: digest, body };
    return { content: digest, sealed: this.seal(content) ?? '' };
  }

  private textSum(body: JsonValue): string {
    return sha256(JSON.stringify(body));
  }
}

/**
 * From the session's first record to its last, with the acceptance state before the first; other sessions between them
 * by what acceptance needs.
 */
async function* itemsOf(
  source: SessionSource,
  { release, seal }: ExportOptions,
): AsyncGenerator<ExportItem> {
  const { session, topic, partition, whole, anonymised, fork } = source;
  const acceptance = copyAcceptance(source.acceptance);
  const shelf = new ContentShelf(seal);
  let begun = false;
  let others: OtherItem[] = [];
  for await (const record of source.records()) {
    if (record.header.session !== session) {
      if (begun) others.push(otherItem(record));
      else accept(acceptance, record.header);
      continue;
    }
    if (!begun) {
      const place = { session, topic, partition, release, from: record.offset };
      const mark = {
        ...(anonymised === undefined ? {} : { anonymised }),
        ...(fork === undefined ? {} : { fork }),
      };
      yield { export: exportVersion, ...place, acceptance, whole, ...mark };
    }
    begun = true;
    yield* others;
    others = [];
    yield* shelf.items(record);
  }
  if (!begun)
    throw sessionUnknown(session, source.origin, 'list sessions with `longrein session list`');
}

/** The lines of an export, each with its line feed. Throws LongreinError SESSION_UNKNOWN, and what the source throws. */
export async function* exportLines(
  source: SessionSource,
  options: ExportOptions,
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  let previous = '';
  let lines = 0;
  for await (const item of itemsOf(source, options)) {
    const { line, sum } = formatLine(previous, item);
    hash.update(line, 'utf8');
    previous = sum;
    lines += 1;
    yield line;
  }
  yield formatLine(previous, { end: { lines: lines + 1, sha256: hash.digest('hex') } }).line;
}

export type ExportReport = Readonly<{ path: string; lines: number; bytes: number }>;

const chunkCharacters = 262_144;

async function writeLines(path: string, lines: AsyncIterable<string>): Promise<ExportReport> {
  const file = await open(path, 'w');
  let [count, bytes, chunk] = [0, 0, ''];
  const flush = async (): Promise<void> => {
    bytes += (await file.write(chunk)).bytesWritten;
    chunk = '';
  };
  try {
    for await (const line of lines) {
      count += 1;
      chunk += line;
      if (chunk.length > chunkCharacters) await flush();
    }
    await flush();
    await file.sync();
  } finally {
    await file.close();
  }
  return { path, lines: count, bytes };
}

const isSystemError = (error: Error): boolean => 'syscall' in error;

/**
 * Writes the session to a file, which is whole or not there. Throws LongreinError SESSION_UNKNOWN, EXPORT_NOT_WRITTEN,
 * and what the source throws.
 */
export async function exportToFile(
  source: SessionSource,
  path: string,
  options: ExportOptions,
): Promise<ExportReport> {
  const part = `${path}.part`;
  try {
    const report = await writeLines(part, exportLines(source, options));
    await rename(part, path);
    return { ...report, path };
  } catch (thrown) {
    await rm(part, { force: true });
    const error = toError(thrown);
    if (!isSystemError(error)) throw error;
    const fix = 'name a file in a directory that exists and may be written, with room for it';
    throw new LongreinError('EXPORT_NOT_WRITTEN', `${path} cannot be written: ${error.message}`, {
      fix,
      cause: error,
    });
  }
}
