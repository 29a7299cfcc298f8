import type { Content, ContentDraft, Draft } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { canonical, hashOf, sha256 } from './hash.ts';
import { type Language, releaseLanguage } from './language.ts';

/** An event as it stands in a record. */
export type EventRecord = Readonly<{
  type: string;
  version: number;
  data: JsonObject;
  content?: Readonly<Record<string, Content>>;
  /** The only services that have to understand it, where its schema names them: others pass it by. */
  readers?: readonly string[];
}>;

/** Under codec `none` the salt follows from the session id (DESIGN 2); with keys it will live and die with them. */
export const saltOf = (session: string): string => sha256(`longrein salt ${session}`);

/**
 * Gives content its digest: SHA-256 over the salt and the canonical text of the body. The body becomes what that text
 * says, with its members in that order: who decided it and who reads it later, from a blob or not, see the same.
 */
export function sealContent(salt: string, draft: ContentDraft): Content {
  const bytes = canonical(draft.body);
  return {
    digest: sha256(salt + bytes),
    mediaType: draft.mediaType,
    bytes: Buffer.byteLength(bytes, 'utf8'),
    body: typeof draft.body === 'string' ? draft.body : (JSON.parse(bytes) as JsonValue),
  };
}

export function sealContents(
  salt: string,
  drafts: Readonly<Record<string, ContentDraft | undefined>>,
): Record<string, Content> {
  const sealed: Record<string, Content> = {};
  for (const [name, draft] of Object.entries(drafts)) {
    if (draft !== undefined) sealed[name] = sealContent(salt, draft);
  }
  return sealed;
}

/** An event ready for a record, in the newest version of its type. */
export function sealEvent(
  salt: string,
  draft: Draft,
  language: Language = releaseLanguage,
): EventRecord {
  const { type } = draft;
  const readers = language.readersOf(type);
  const head = {
    ...{ type, version: language.versionOf(type) ?? 1, data: draft.data as JsonObject },
    ...(readers === undefined ? {} : { readers }),
  };
  if (draft.content === undefined) return head;
  return { ...head, content: sealContents(salt, draft.content) };
}

/** A value in which every content is only its digest: what ids are made of. */
function digestsOnly(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(digestsOnly);
  const object = value as Record<string, unknown>;
  if (isContent(object)) return { digest: object['digest'], mediaType: object['mediaType'] };
  return Object.fromEntries(Object.entries(object).map(([key, item]) => [key, digestsOnly(item)]));
}

function isContent(object: Record<string, unknown>): boolean {
  const { digest, mediaType, bytes } = object;
  return typeof digest === 'string' && typeof mediaType === 'string' && typeof bytes === 'number';
}

/** The hash that makes a turn's or a checkpoint's id: everything in it, contents by digest (DESIGN 2 and 3.4). */
export const recordHash = (body: object): string => hashOf(digestsOnly(body) as object);
