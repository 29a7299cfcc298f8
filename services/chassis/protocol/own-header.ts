import type { RecordBody, RecordHeader, Sending } from './record.ts';

/**
 * The header of a record of our own, without the text of its headers: the same as reading those gives. Every turn is shown
 * to all services of its host before it is written, and taken in after that.
 */
export function ownHeader(id: string, body: RecordBody, place: Sending): RecordHeader {
  const { batch, batchIndex, traceparent, codec } = place;
  const atMs = Math.trunc(body.atMs);
  const common = { ...nothing, kind: body.kind, id, batch, batchIndex, atMs, traceparent };
  const header: RecordHeader = { ...common, ...ofKind(body) };
  return codec === undefined ? header : { ...header, codec };
}

const none: readonly string[] = [];

/** What a kind does not have. */
const nothing: RecordHeader = {
  kind: 'turn',
  ...{ id: '', session: '', service: '', services: none, epoch: -1, incarnation: '', sequence: -1 },
  ...{ base: '', baseOffset: -1, foreseen: none, batch: '', batchIndex: -1, cursorOffset: -1 },
  ...{ fold: -1, types: none, behaviour: -1, atMs: 0, traceparent: '' },
};

const listed = (items: readonly string[]): readonly string[] => (items.length === 0 ? none : items);

function ofKind(body: RecordBody): Partial<RecordHeader> {
  switch (body.kind) {
    case 'turn': {
      const { session, service, epoch, incarnation, base, baseOffset, behaviour } = body;
      const lists = {
        foreseen: listed(body.foreseen),
        types: listed(body.events.map(({ type }) => type)),
      };
      return { session, service, epoch, incarnation, base, baseOffset, behaviour, ...lists };
    }
    case 'input': {
      const { session, source, epoch, incarnation = '', event } = body;
      const fence = epoch === undefined ? {} : { epoch, incarnation };
      return { session, service: source, types: [event.type], ...fence };
    }
    case 'checkpoint': {
      const { session, service, epoch, incarnation, cursor, fold } = body;
      return { session, service, epoch, incarnation, cursorOffset: cursor.offset, fold };
    }
    case 'epoch': {
      const { services, number, incarnation } = body;
      return { services: listed(services), epoch: number, incarnation };
    }
  }
}
