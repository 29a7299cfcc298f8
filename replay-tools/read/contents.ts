import type { Content } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { BlobPort } from '../../services/chassis/content/blobs.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import type { RecordBody } from '../../services/chassis/protocol/record.ts';
import type { EventRecord } from '../../services/chassis/protocol/seal.ts';

/** The contents of a record, wherever they stand in it. Owns no rule about what they mean. */

/** `pointer`: where it stands in the body, as a JSON pointer; `event` the index of its event, if it is in one. */
export type PlacedContent = Readonly<{ pointer: string; event?: number; content: Content }>;

type Contents = Readonly<Record<string, Content>> | undefined;

const listed = (contents: Contents, pointer: string, event?: number): PlacedContent[] =>
  Object.entries(contents ?? {}).map(([name, content]) => {
    const place = { pointer: `${pointer}/${name}`, content };
    return event === undefined ? place : { ...place, event };
  });

/** Every content of a record. */
export function contentsOf(body: RecordBody): readonly PlacedContent[] {
  switch (body.kind) {
    case 'epoch':
      return [];
    case 'input':
      return listed(body.event.content, '/event/content', 0);
    case 'checkpoint':
      return [{ pointer: '/state', content: body.state }];
    case 'turn':
      return [
        ...listed(body.facts.content, '/facts/content'),
        ...body.events.flatMap((event, index) =>
          listed(event.content, `/events/${index}/content`, index),
        ),
      ];
  }
}

type Change = (content: Content) => Content;

function changeAll(contents: NonNullable<Contents>, change: Change): Record<string, Content> {
  return Object.fromEntries(Object.entries(contents).map(([name, one]) => [name, change(one)]));
}

const changeEvent = (event: EventRecord, change: Change): EventRecord =>
  event.content === undefined ? event : { ...event, content: changeAll(event.content, change) };

/** The record with every content changed; the same object where it has none. */
export function withContents(body: RecordBody, change: Change): RecordBody {
  if (contentsOf(body).length === 0) return body;
  switch (body.kind) {
    case 'epoch':
      return body;
    case 'input':
      return { ...body, event: changeEvent(body.event, change) };
    case 'checkpoint':
      return { ...body, state: change(body.state) };
    case 'turn': {
      const { content } = body.facts;
      const facts =
        content === undefined ? body.facts : { ...body.facts, content: changeAll(content, change) };
      return { ...body, facts, events: body.events.map((event) => changeEvent(event, change)) };
    }
  }
}

/** Whether a content names something that was not read. */
export const isMissing = (content: Content): boolean => content.body === undefined;

/** The body of a content with this digest, or undefined where nobody has it. */
export type ContentLookup = (digest: string) => JsonValue | undefined;

const fillFrom = (body: RecordBody, lookup: ContentLookup): RecordBody =>
  withContents(body, (content) => {
    const found = isMissing(content) ? lookup(content.blob ?? content.digest) : undefined;
    return found === undefined ? content : { ...content, body: found };
  });

/** The record with the bodies that the lookup has. */
export function fillKnown(body: RecordBody, lookup: ContentLookup): RecordBody {
  return contentsOf(body).some(({ content }) => isMissing(content)) ? fillFrom(body, lookup) : body;
}

/**
 * The record with the blobs that it names. A blob that is nowhere leaves its content without body; whatever else goes
 * wrong at the store is thrown.
 */
export async function fillFromBlobs(body: RecordBody, blobs: BlobPort): Promise<RecordBody> {
  const wanted = new Set(
    contentsOf(body).flatMap(({ content }) =>
      isMissing(content) && content.blob !== undefined ? [content.blob] : [],
    ),
  );
  if (wanted.size === 0) return body;
  const found = new Map<string, JsonValue>();
  for (const digest of wanted) {
    const text = await textOf(digest, blobs);
    if (text !== undefined) found.set(digest, JSON.parse(text) as JsonValue);
  }
  return fillFrom(body, (digest) => found.get(digest));
}

async function textOf(digest: string, blobs: BlobPort): Promise<string | undefined> {
  try {
    return await blobs.get(digest);
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'BLOB_MISSING') return undefined;
    throw thrown;
  }
}
