import type { Content } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { canonical } from '../protocol/hash.ts';
import type { RecordBody } from '../protocol/record.ts';
import type { BlobPort } from './blobs.ts';
import { type ContentOpener, type ContentSeal, sealed } from './content-keys.ts';
import { bare, withContents } from './contents.ts';

/** Moves large contents of a record to blobs and back. Digests stay, so ids do not change. */

type Change = (content: Content) => Promise<Content>;

async function mapContents<T extends Readonly<Record<string, Content>>>(
  contents: T | undefined,
  change: Change,
): Promise<T | undefined> {
  if (contents === undefined) return undefined;
  const pairs = Object.entries(contents).map(async ([name, one]) => [name, await change(one)]);
  return Object.fromEntries(await Promise.all(pairs)) as T;
}

async function mapEvent<E extends { content?: Readonly<Record<string, Content>> }>(
  event: E,
  change: Change,
): Promise<E> {
  if (event.content === undefined) return event;
  return { ...event, content: await mapContents(event.content, change) };
}

async function mapBody(body: RecordBody, change: Change): Promise<RecordBody> {
  switch (body.kind) {
    case 'epoch':
      return body;
    case 'input':
      return { ...body, event: await mapEvent(body.event, change) };
    case 'checkpoint':
      return { ...body, state: await change(body.state) };
    case 'turn': {
      const events = await Promise.all(body.events.map((event) => mapEvent(event, change)));
      const content = await mapContents(body.facts.content, change);
      const facts = content === undefined ? body.facts : { ...body.facts, content };
      return { ...body, events, facts };
    }
  }
}

function contentsOf(body: RecordBody): readonly Content[] {
  switch (body.kind) {
    case 'epoch':
      return [];
    case 'input':
      return Object.values(body.event.content ?? {});
    case 'checkpoint':
      return [body.state];
    case 'turn':
      return [
        ...body.events.flatMap((event) => Object.values(event.content ?? {})),
        ...Object.values(body.facts.content ?? {}),
      ];
  }
}

/** Whether a record as built has contents over the limit, in bytes. */
export const hasLargeContent = (body: RecordBody, bytesMax: number): boolean =>
  contentsOf(body).some((content) => content.bytes > bytesMax && content.body !== undefined);

/** Whether a record as read names blobs. */
export const hasBlobs = (body: RecordBody): boolean =>
  contentsOf(body).some((content) => content.blob !== undefined && content.body === undefined);

/** Writes contents over the limit to blobs, sealed where the log is; the record then names them. */
export function spillContents(
  body: RecordBody,
  blobs: BlobPort,
  bytesMax: number,
  seal?: ContentSeal,
): Promise<RecordBody> {
  return mapBody(body, async (content) => {
    if (content.bytes <= bytesMax || content.body === undefined) return content;
    const text = seal === undefined ? canonical(content.body) : seal(content);
    if (text === undefined) return bare(content);
    await blobs.put(content.digest, text);
    return { ...bare(content), blob: content.digest };
  });
}

/** Seals the contents that are still in the record. */
export const sealContents = (body: RecordBody, seal: ContentSeal): RecordBody =>
  withContents(body, (content) => sealed(content, seal));

/** Whether a record holds anything that could be sealed. */
export const hasContents = (body: RecordBody): boolean => contentsOf(body).length > 0;

const openedText = (text: string, content: Content, open: ContentOpener | undefined): JsonValue =>
  open === undefined ? (JSON.parse(text) as JsonValue) : open(content, text);

/**
 * Reads the blobs that a record names, and opens what is sealed. Throws LongreinError BLOB_MISSING, and what the opener
 * throws.
 */
export function fillContents(
  body: RecordBody,
  blobs: BlobPort,
  open?: ContentOpener,
): Promise<RecordBody> {
  return mapBody(body, async (content) => {
    if (content.body !== undefined) return content;
    // Without the name of the blob: states of who wrote it and of who read it back must be the same.
    const { blob, sealed: text, ...rest } = content;
    if (blob !== undefined)
      return { ...rest, body: openedText(await blobs.get(blob), content, open) };
    if (text === undefined || open === undefined) return content;
    return { ...rest, body: open(content, text) };
  });
}

/** Digests of the blobs that a record names. */
export const blobsOf = (body: RecordBody): readonly string[] =>
  contentsOf(body).flatMap((content) => (content.blob === undefined ? [] : [content.blob]));
