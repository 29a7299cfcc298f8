import type { Content } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { canonical } from '../protocol/hash.ts';
import type { RecordBody } from '../protocol/record.ts';
import type { BlobPort } from './blobs.ts';

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

/** Writes contents over the limit to blobs; the record then names them. */
export function spillContents(
  body: RecordBody,
  blobs: BlobPort,
  bytesMax: number,
): Promise<RecordBody> {
  return mapBody(body, async (content) => {
    if (content.bytes <= bytesMax || content.body === undefined) return content;
    await blobs.put(content.digest, canonical(content.body));
    const { body: _spilled, ...rest } = content;
    return { ...rest, blob: content.digest };
  });
}

/** Reads the blobs that a record names. Throws LongreinError BLOB_MISSING. */
export function fillContents(body: RecordBody, blobs: BlobPort): Promise<RecordBody> {
  return mapBody(body, async (content) => {
    if (content.blob === undefined || content.body !== undefined) return content;
    // Without the name of the blob: states of who wrote it and of who read it back must be the same.
    const { blob, ...rest } = content;
    return { ...rest, body: JSON.parse(await blobs.get(blob)) as JsonValue };
  });
}

/** Digests of the blobs that a record names. */
export const blobsOf = (body: RecordBody): readonly string[] =>
  contentsOf(body).flatMap((content) => (content.blob === undefined ? [] : [content.blob]));
