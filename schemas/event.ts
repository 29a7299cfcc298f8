import type { ContentV1, InputEvents, TurnEvents } from './generated/events.ts';
import type { JsonValue } from './json.ts';

/** A value that a person, a model or a tool wrote, named by its digest. `body` is there once it was read. */
export type Content = ContentV1;

export type EventTypes = TurnEvents & InputEvents;
export type EventType = keyof EventTypes;
export type TurnEventType = keyof TurnEvents;
export type InputEventType = keyof InputEvents;

export type DataOf<T extends EventType> = EventTypes[T]['data'];

type ContentPart<T extends EventType> = EventTypes[T] extends { content: infer C }
  ? C
  : EventTypes[T] extends { content?: infer C }
    ? NonNullable<C>
    : Record<never, Content>;

/** Names of the content parts of an event. */
export type ContentNames<T extends EventType> = keyof ContentPart<T> & string;

/** Content before it has a digest: a JSON value; text is a JSON string. */
export type ContentDraft = Readonly<{ mediaType: string; body: JsonValue }>;

type ContentDraftsOf<T extends EventType> = {
  readonly [N in keyof ContentPart<T>]: ContentDraft;
};

/** An event as a decision proposes it: no id, no time, no digest yet. */
export type Draft<T extends EventType = EventType> = {
  [K in T]: Readonly<{
    type: K;
    data: DataOf<K>;
    content?: Partial<Record<string, ContentDraft>>;
  }>;
}[T];

type DraftArguments<T extends EventType> = [ContentNames<T>] extends [never]
  ? [data: DataOf<T>]
  : Record<never, never> extends ContentDraftsOf<T>
    ? [data: DataOf<T>, content?: ContentDraftsOf<T>]
    : [data: DataOf<T>, content: ContentDraftsOf<T>];

/** The builder of every event: `event('task.skipped', { task, because })`. */
export function event<T extends EventType>(type: T, ...parts: DraftArguments<T>): Draft<T> {
  const [data, content] = parts;
  return (content === undefined ? { type, data } : { type, data, content }) as Draft<T>;
}

/** JSON content. */
export const json = (body: JsonValue): ContentDraft => ({ mediaType: 'application/json', body });
/** Text content. */
export const text = (body: string): ContentDraft => ({ mediaType: 'text/plain', body });

/** Where an event stands in its session: the record's id and the place in it. Stable across copies of the log. */
export type EventAddress = Readonly<{ record: string; index: number }>;

type SeenContent<T extends EventType> = {
  readonly [N in keyof ContentPart<T>]: Content;
};

/** An effective event as a fold sees it. `service` is who decided it; `input` for an input. */
export type SeenEvent<T extends EventType = EventType> = {
  [K in T]: EventAddress &
    Readonly<{
      type: K;
      version: number;
      data: DataOf<K>;
      content: SeenContent<K>;
      service: string;
      incarnation: string;
      atMs: number;
    }>;
}[T];

/** The value of a content part, or the fallback where it is missing. Throws if it was not read from its blob. */
export function bodyOf(content: Content | undefined, fallback: JsonValue = null): JsonValue {
  if (content === undefined) return fallback;
  if (content.body === undefined) throw new Error(`content ${content.digest} has no body here`);
  return content.body;
}

/** The text of a content part; JSON that is not text is shown as JSON. */
export function textOf(content: Content | undefined, fallback = ''): string {
  const body = bodyOf(content, fallback);
  return typeof body === 'string' ? body : JSON.stringify(body);
}
