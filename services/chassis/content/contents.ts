import type { Content } from '../../../schemas/event.ts';
import type { EventRecord } from '../protocol/event-record.ts';
import type { InputBody, RecordBody, TurnBody } from '../protocol/record.ts';

/** The contents of a record, wherever they stand in it. Owns no rule about what they mean. */

/** `pointer`: where it stands in the body, as a JSON pointer; `event` the index of its event, if it is in one. */
export type PlacedContent = Readonly<{ pointer: string; event?: number; content: Content }>;

type Contents = Readonly<Record<string, Content>> | undefined;

/** Adds those of one place. */
function list(to: PlacedContent[], contents: Contents, pointer: string, event?: number): void {
  if (contents === undefined) return;
  for (const name of Object.keys(contents)) {
    const at = `${pointer}/${name}`;
    const content = contents[name] as Content;
    to.push(event === undefined ? { pointer: at, content } : { pointer: at, content, event });
  }
}

function listTurn({ facts, events }: TurnBody): readonly PlacedContent[] {
  const all: PlacedContent[] = [];
  list(all, facts.content, '/facts/content');
  for (const [index, { content }] of events.entries())
    if (content !== undefined) list(all, content, `/events/${index}/content`, index);
  return all;
}

function listInput({ event }: InputBody): readonly PlacedContent[] {
  const all: PlacedContent[] = [];
  list(all, event.content, '/event/content', 0);
  return all;
}

/** Every content of a record. */
export function contentsOf(body: RecordBody): readonly PlacedContent[] {
  switch (body.kind) {
    case 'epoch':
      return [];
    case 'input':
      return listInput(body);
    case 'checkpoint':
      return [{ pointer: '/state', content: body.state }];
    case 'turn':
      return listTurn(body);
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

/** The content without what was written: its digest, its media type and its size. */
export const bare = ({ digest, mediaType, bytes }: Content): Content => ({
  digest,
  mediaType,
  bytes,
});
