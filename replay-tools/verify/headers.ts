import type {
  CheckpointBody,
  InputBody,
  RecordBody,
  RecordHeader,
  TurnBody,
} from '../../services/chassis/protocol/record.ts';

/**
 * Whether the headers of a record say what its body says, found without writing them out and reading them again. False says
 * nothing: then the headers themselves are asked.
 */

/** Members of a header that has no codec. */
const members = 19;

/** The last millisecond that a header can name. */
const latestMs = 8_640_000_000_000_000;

const isWhole = (header: RecordHeader): boolean =>
  Number.isSafeInteger(header.epoch) &&
  Number.isSafeInteger(header.baseOffset) &&
  Number.isSafeInteger(header.batchIndex) &&
  Number.isSafeInteger(header.cursorOffset) &&
  Number.isSafeInteger(header.fold) &&
  Number.isSafeInteger(header.behaviour) &&
  Number.isSafeInteger(header.atMs) &&
  Math.abs(header.atMs) <= latestMs;

/** A list is one text in a header: what would be another list there is not told here. */
const isPlain = (item: string): boolean => item !== '' && !item.includes(',');

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) {
    const item = one[at] as string;
    if (item !== other[at] || !isPlain(item)) return false;
  }
  return true;
}

function areTypes(types: readonly string[], { events }: TurnBody): boolean {
  if (types.length !== events.length) return false;
  for (let at = 0; at < types.length; at++) {
    const type = types[at] as string;
    if (type !== events[at]?.type || !isPlain(type)) return false;
  }
  return true;
}

const saysTurn = (header: RecordHeader, body: TurnBody): boolean =>
  header.service === body.service &&
  header.epoch === body.epoch &&
  header.incarnation === body.incarnation &&
  header.base === body.base &&
  header.baseOffset === body.baseOffset &&
  header.behaviour === body.behaviour &&
  header.cursorOffset === -1 &&
  header.fold === -1 &&
  isSameList(header.foreseen, body.foreseen) &&
  areTypes(header.types, body);

const hasNoBase = (header: RecordHeader): boolean =>
  header.base === '' &&
  header.baseOffset === -1 &&
  header.behaviour === -1 &&
  header.foreseen.length === 0;

function saysInput(header: RecordHeader, body: InputBody): boolean {
  const { source, epoch = -1, incarnation = '', event } = body;
  return (
    hasNoBase(header) &&
    header.service === source &&
    header.epoch === epoch &&
    header.incarnation === (body.epoch === undefined ? '' : incarnation) &&
    header.cursorOffset === -1 &&
    header.fold === -1 &&
    header.types.length === 1 &&
    header.types[0] === event.type &&
    isPlain(event.type)
  );
}

/** Older releases named no fold. */
const saysCheckpoint = (header: RecordHeader, body: CheckpointBody): boolean =>
  hasNoBase(header) &&
  header.service === body.service &&
  header.epoch === body.epoch &&
  header.incarnation === body.incarnation &&
  header.cursorOffset === body.cursor.offset &&
  (header.fold === body.fold || header.fold === -1) &&
  header.types.length === 0;

function saysKind(header: RecordHeader, body: RecordBody): boolean {
  switch (body.kind) {
    case 'turn':
      return saysTurn(header, body);
    case 'input':
      return saysInput(header, body);
    case 'checkpoint':
      return saysCheckpoint(header, body);
    case 'epoch':
      return false;
  }
}

/** Whether the body alone shows that these headers are those of its record. */
export function isToldBy(body: RecordBody, header: RecordHeader): boolean {
  if (body.kind === 'epoch') return false;
  return (
    header.kind === body.kind &&
    header.session === body.session &&
    header.atMs === body.atMs &&
    header.services.length === 0 &&
    isWhole(header) &&
    Object.keys(header).length === (header.codec === undefined ? members : members + 1) &&
    saysKind(header, body)
  );
}
