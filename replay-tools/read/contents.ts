import type { Content } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { BlobPort } from '../../services/chassis/content/blobs.ts';
import type { ContentKeys, ContentOpener } from '../../services/chassis/content/content-keys.ts';
import { contentsOf, withContents } from '../../services/chassis/content/contents.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import type { RecordBody, RecordHeader } from '../../services/chassis/protocol/record.ts';

export {
  contentsOf,
  type PlacedContent,
  withContents,
} from '../../services/chassis/content/contents.ts';

/** The contents of records as tools read them: from blobs, from lines of an export, and out of their seals. */

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

/** Where bodies are that a record does not hold. Without `keys` what is sealed stays so. */
export type ContentStores = Readonly<{ blobs: BlobPort; keys?: ContentKeys }>;

/**
 * The record with the blobs that it names, and out of its seals. What is nowhere, or sealed with a key that is not here
 * or was dropped, leaves its content without body; whatever else goes wrong is thrown.
 */
export async function fillFromStores(
  body: RecordBody,
  { codec }: Pick<RecordHeader, 'codec'>,
  { blobs, keys }: ContentStores,
): Promise<RecordBody> {
  const isSealed = codec !== undefined;
  const open = isSealed && body.kind !== 'epoch' ? openerOf(body.session, keys) : undefined;
  const found = new Map<Content, JsonValue>();
  for (const { content } of contentsOf(body)) {
    if (!isMissing(content) || (isSealed && open === undefined)) continue;
    const text = content.sealed ?? (await textOf(content.blob, blobs));
    if (text === undefined) continue;
    found.set(content, open === undefined ? (JSON.parse(text) as JsonValue) : open(content, text));
  }
  if (found.size === 0) return body;
  return withContents(body, (content) => filled(content, found.get(content)));
}

/** The record with what is sealed in it, or in another place by its digest, opened as far as it can be. */
export function openKnown(
  body: RecordBody,
  sealedAs: (digest: string) => string | undefined,
  open: ContentOpener | undefined,
): RecordBody {
  if (open === undefined || !contentsOf(body).some(({ content }) => isMissing(content)))
    return body;
  return withContents(body, (content) => {
    const text = isMissing(content) ? (content.sealed ?? sealedAs(content.digest)) : undefined;
    return text === undefined ? content : filled(content, open(content, text));
  });
}

function filled(content: Content, body: JsonValue | undefined): Content {
  if (body === undefined) return content;
  const { sealed: _opened, ...rest } = content;
  return { ...rest, body };
}

/** Codes of errors that say no more than that the key is not here. */
const keyless: ReadonlySet<string> = new Set(['CONTENT_KEYS_NEEDED', 'SESSION_KEY_MISSING']);

/** What opens a log's contents; undefined where nobody can here. */
export function openerOf(log: string, keys: ContentKeys | undefined): ContentOpener | undefined {
  try {
    return keys?.openerOf(log);
  } catch (thrown) {
    if (thrown instanceof LongreinError && keyless.has(thrown.code)) return undefined;
    throw thrown;
  }
}

async function textOf(digest: string | undefined, blobs: BlobPort): Promise<string | undefined> {
  if (digest === undefined) return undefined;
  try {
    return await blobs.get(digest);
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'BLOB_MISSING') return undefined;
    throw thrown;
  }
}
