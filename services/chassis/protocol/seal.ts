import type { Content, ContentDraft, Draft } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { EventRecord } from './event-record.ts';
import { canonical, hashWith, quoted, sha256 } from './hash.ts';
import { type Language, releaseLanguage } from './language.ts';

/** Salts of the sessions that were asked for last: one session's come in rows. */
const salts = new Map<string, string>();
const saltsMax = 1_000;

/** Tells the salt of a session that has a key; undefined for one that has none. */
export type SaltSource = (session: string) => string | undefined;

let keyedSalts: SaltSource | undefined;

/**
 * Whoever keeps the keys of this process says so once. A salt is as constant as a session's id: for the same session the
 * source tells the same one for ever.
 */
export function useKeyedSalts(source: SaltSource | undefined): void {
  keyedSalts = source;
}

let standsOpen: string | undefined;

/** What the work seals for the session gets the salt of sessions without a key: its record was written before it had one. */
export function underPlainSalt<T>(session: string, work: () => T): T {
  standsOpen = session;
  try {
    return work();
  } finally {
    standsOpen = undefined;
  }
}

/** With a key the salt lives and dies with it; without one it follows from the session id (DESIGN 2). */
export const saltOf = (session: string): string =>
  (session === standsOpen ? undefined : keyedSalts?.(session)) ?? plainSaltOf(session);

/** The salt of a session without a key. */
export function plainSaltOf(session: string): string {
  const known = salts.get(session);
  if (known !== undefined) return known;
  const salt = sha256(`longrein salt ${session}`);
  if (salts.size >= saltsMax) salts.clear();
  salts.set(session, salt);
  return salt;
}

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

/** A salt, or who seals in another way: where the same body has a digest already, it is not made once more. */
export type Seal = string | ((draft: ContentDraft) => Content);

export function sealContents(
  seal: Seal,
  drafts: Readonly<Record<string, ContentDraft | undefined>>,
): Record<string, Content> {
  const sealed: Record<string, Content> = {};
  for (const [name, draft] of Object.entries(drafts)) {
    if (draft !== undefined)
      sealed[name] = typeof seal === 'string' ? sealContent(seal, draft) : seal(draft);
  }
  return sealed;
}

/** An event ready for a record, in the newest version of its type. */
export function sealEvent(
  seal: Seal,
  draft: Draft,
  language: Language = releaseLanguage,
): EventRecord {
  const { type } = draft;
  const readers = language.readersOf(type);
  const version = language.versionOf(type) ?? 1;
  const data = draft.data as JsonObject;
  const event: EventRecord =
    draft.content === undefined
      ? { type, version, data }
      : { type, version, data, content: sealContents(seal, draft.content) };
  return readers === undefined ? event : { ...event, readers };
}

/** In what ids are made of, every content is only its digest and its media type. */
function digestOnly(object: Readonly<Record<string, unknown>>): string | undefined {
  const { digest } = object;
  // Hardly any object has one: nothing else of it is looked at.
  if (typeof digest !== 'string') return undefined;
  const { mediaType, bytes } = object;
  if (typeof mediaType !== 'string' || typeof bytes !== 'number') return undefined;
  return `{"digest":${quoted(digest)},"mediaType":${quoted(mediaType)}}`;
}

/** The hash that makes a turn's or a checkpoint's id: everything in it, contents by digest (DESIGN 2 and 3.4). */
export const recordHash = (body: object): string => hashWith(body, digestOnly);
