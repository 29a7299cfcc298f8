import type { LogRecord } from '../log/port.ts';
import { parseHeader, type RecordBody, type RecordHeader } from '../protocol/record.ts';

/**
 * A record whose body only a newer release reads, as this one takes it: what the headers say of it, with events that
 * nobody here understands. So it keeps its place among the records of its session, and the session stands by.
 */

/** No schema has this version. */
const versionUnread = 0;

/** No release folds so. */
const foldUnread = Number.MAX_SAFE_INTEGER;

const eventOf = (type: string) => ({ type, version: versionUnread, data: {} });

const owned = ({ service, epoch, incarnation }: RecordHeader) => ({ service, epoch, incarnation });
const nobody = { tenant: '', principal: '', labels: {} };

function turnOf(header: RecordHeader): RecordBody {
  const { session, base, baseOffset, foreseen, behaviour, atMs, types } = header;
  return {
    kind: 'turn',
    ...owned(header),
    ...nobody,
    ...{ session, base, baseOffset, foreseen, behaviour, atMs, release: '' },
    causes: [],
    facts: { data: { nowMs: atMs } },
    events: (types.length === 0 ? ['turn'] : types).map(eventOf),
  };
}

function checkpointOf(header: RecordHeader): RecordBody {
  const { session, cursorOffset, atMs } = header;
  return {
    kind: 'checkpoint',
    ...owned(header),
    ...{ session, atMs, release: '', machines: {}, stateHash: '' },
    cursor: { record: '', offset: cursorOffset },
    fold: foldUnread,
    form: foldUnread,
    state: { digest: '', mediaType: '', bytes: 0 },
  };
}

/** What stands for the body of such a record; undefined for a record of no session, which needs none. */
export function newerBody(record: LogRecord): RecordBody | undefined {
  const header = parseHeader(record.headers);
  if (header?.kind === 'turn') return turnOf(header);
  if (header?.kind === 'checkpoint') return checkpointOf(header);
  if (header?.kind !== 'input') return undefined;
  const { session, service: source, incarnation, atMs, types } = header;
  const event = eventOf(types[0] ?? 'input');
  return { kind: 'input', session, source, incarnation, atMs, ...nobody, event };
}
