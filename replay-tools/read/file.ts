import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { JsonValue } from '../../schemas/json.ts';
import type { ContentKeys, ContentOpener } from '../../services/chassis/content/content-keys.ts';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import {
  type ContentItem,
  corrupt,
  type EndItem,
  type ExportHead,
  type ExportItem,
  exportVersion,
  type OtherItem,
  parseLine,
  type RecordItem,
} from '../export/format.ts';
import { fillKnown, openerOf, openKnown } from './contents.ts';
import { acceptanceHeader, type SessionSource, type SourceRecord } from './source.ts';

/** Reads what export/export.ts wrote, and believes no line whose sum is wrong. */

/** Lines without their line feeds. Text after the last line feed is a line too. */
async function* linesOf(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

const isHead = (item: ExportItem): item is ExportHead => 'export' in item;
const isRecord = (item: ExportItem): item is RecordItem => 'record' in item;
const isOther = (item: ExportItem): item is OtherItem => 'other' in item;
const isContent = (item: ExportItem): item is ContentItem => 'content' in item;
const isEnd = (item: ExportItem): item is EndItem => 'end' in item;

function checkHead(line: string, origin: string): void {
  const version = /^\{"sum":"[^"]*","item":\{"export":(\d+)/.exec(line)?.[1];
  if (version === String(exportVersion)) return;
  if (version === undefined)
    throw new LongreinError('EXPORT_UNREADABLE', `${origin} is not an export of a session`, {
      fix: 'name a file that `longrein replay export` wrote',
    });
  const message = `${origin} is an export of version ${version}; this release reads ${exportVersion}`;
  throw new LongreinError('EXPORT_NEWER', message, {
    fix: 'read it with the release that wrote it',
  });
}

/** One reading of a file, line by line. */
class ExportReading {
  readonly records: SourceRecord[] = [];
  head: ExportHead | undefined;
  private readonly contents = new Map<string, JsonValue>();
  private readonly sealed = new Map<string, string>();
  private readonly keys: ContentKeys | undefined;
  private readonly hash = createHash('sha256');
  private readonly origin: string;
  private previous = '';
  private lines = 0;
  private ended = false;

  constructor(origin: string, keys: ContentKeys | undefined) {
    this.origin = origin;
    this.keys = keys;
  }

  take(line: string): void {
    this.lines += 1;
    if (this.lines === 1) checkHead(line, this.origin);
    if (this.ended) throw corrupt(this.origin, this.lines, 'there is something after the end');
    const at = { previous: this.previous, number: this.lines, origin: this.origin };
    const { item, sum } = parseLine(line, at);
    this.previous = sum;
    if (isEnd(item)) this.end(item);
    else this.keep(item);
    this.hash.update(`${line}\n`, 'utf8');
  }

  private keep(item: ExportItem): void {
    if (isHead(item)) this.head = item;
    else if (isContent(item)) this.shelve(item);
    else if (isRecord(item)) this.records.push(this.filled(item));
    else if (isOther(item)) {
      const { offset, ...header } = item.other;
      this.records.push({ offset, header: acceptanceHeader(header) });
    }
  }

  private shelve(item: ContentItem): void {
    if ('body' in item) this.contents.set(item.content, item.body);
    else this.sealed.set(item.content, item.sealed);
  }

  private filled({ record: written }: RecordItem): SourceRecord {
    const { body } = written;
    // Exports of older releases say nothing of it.
    const record = { ...written, header: { ...written.header, fold: written.header.fold ?? -1 } };
    if (body === undefined) return record;
    const known = fillKnown(body, (digest) => this.contents.get(digest));
    return { ...record, body: openKnown(known, (digest) => this.sealed.get(digest), this.opener) };
  }

  /** A fork is sealed with the key of the session whose past it shares. */
  private get opener(): ContentOpener | undefined {
    const { session = '', fork } = this.head ?? {};
    return openerOf(fork?.of ?? session, this.keys);
  }

  private end({ end }: EndItem): void {
    this.ended = true;
    if (end.lines !== this.lines || end.sha256 !== this.hash.copy().digest('hex'))
      throw corrupt(this.origin, this.lines, 'the hash over the whole file is wrong');
  }

  finish(): ExportHead {
    if (this.head === undefined)
      throw new LongreinError('EXPORT_UNREADABLE', `${this.origin} is empty`, {
        fix: 'name a file that `longrein replay export` wrote',
      });
    if (!this.ended)
      throw corrupt(this.origin, this.lines, 'the file ends here, before the end of the export');
    return this.head;
  }
}

/** Reads an export from its text, in pieces. `origin` names it in messages. Throws as `readExport`. */
export async function parseExport(
  chunks: AsyncIterable<string> | Iterable<string>,
  origin: string,
  keys?: ContentKeys,
): Promise<SessionSource> {
  const reading = new ExportReading(origin, keys);
  for await (const line of linesOf(chunks)) reading.take(line);
  const head = reading.finish();
  const { session, topic, partition, from, acceptance, whole, release, anonymised, fork } = head;
  const { records } = reading;
  return {
    ...{ session, topic, partition, from, acceptance, whole, release },
    ...(anonymised === undefined ? {} : { anonymised }),
    ...(fork === undefined ? {} : { fork }),
    origin: `file ${origin}`,
    async *records() {
      yield* records;
    },
  };
}

/**
 * The session in an exported file; all of it is checked first. Throws LongreinError EXPORT_MISSING, EXPORT_UNREADABLE,
 * EXPORT_NEWER, or EXPORT_CORRUPT, which says in which line and of which record or content.
 */
export async function readExport(path: string, keys?: ContentKeys): Promise<SessionSource> {
  try {
    return await parseExport(createReadStream(path, { encoding: 'utf8' }), path, keys);
  } catch (thrown) {
    const error = toError(thrown);
    if (!('syscall' in error)) throw error;
    const fix = 'name a file that exists and may be read';
    throw new LongreinError('EXPORT_MISSING', `${path} cannot be read: ${error.message}`, {
      fix,
      cause: error,
    });
  }
}
