import type { Content } from '../../schemas/event.ts';
import { bare, withContents } from '../chassis/content/contents.ts';
import type { RecordBody } from '../chassis/protocol/record.ts';
import { canonicalText } from './canonical-text.ts';
import { isObject } from './decoded-record.ts';

/** What a row keeps of a session whose contents were erased: structure, digests and sizes. */

const isContent = (value: unknown): value is Content =>
  isObject(value) && typeof value['digest'] === 'string' && typeof value['bytes'] === 'number';

/** The column `content`. What is no content of ours goes wholly. */
export function bareContentText(text: string): string {
  const contents: unknown = JSON.parse(text === '' ? '{}' : text);
  if (!isObject(contents)) return '{}';
  const pairs = Object.entries(contents as object).flatMap(([name, one]: [string, unknown]) =>
    isContent(one) ? [[name, bare(one)] as const] : [],
  );
  return canonicalText(Object.fromEntries(pairs));
}

const kinds: ReadonlySet<unknown> = new Set(['turn', 'input', 'checkpoint', 'epoch']);

/** The column `record`: the body of a record of a session log without bodies of contents, nothing of any other. */
export function bareRecordText(text: string): string {
  if (text === '') return '';
  const { headers, key, body } = JSON.parse(text) as Record<string, unknown>;
  const isOurs = isObject(body as never) && kinds.has((body as { kind?: unknown }).kind);
  if (!isOurs) return canonicalText({ headers, ...(key === undefined ? {} : { key }) });
  // As it was written, member by member: the hash of the record is made of it.
  const kept = JSON.stringify(withContents(body as RecordBody, bare));
  return `{"body":${kept},"headers":${canonicalText(headers)}}`;
}
