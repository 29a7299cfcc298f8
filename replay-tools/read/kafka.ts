import { firstGeneration, lanes, sessionTopic, topics } from '../../schemas/topics.ts';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import type { LaneTable } from '../../services/chassis/host/lane-table.ts';
import { Watermarks } from '../../services/chassis/host/watermarks.ts';
import { type Codec, createFixedCodec } from '../../services/chassis/log/codec.ts';
import { partitionOf } from '../../services/chassis/log/partition.ts';
import type { Bounds, LogPort, LogRecord, PartitionName } from '../../services/chassis/log/port.ts';
import { type FillBody, withPast } from '../../services/chassis/log/read-past.ts';
import type { AcceptanceState } from '../../services/chassis/protocol/acceptance.ts';
import {
  parseHeader,
  type RecordBody,
  type RecordHeader,
} from '../../services/chassis/protocol/record.ts';
import { quietLogger } from '../../services/chassis/telemetry/quiet-logger.ts';
import { type ContentStores, fillFromStores } from './contents.ts';
import { boundsIfThere, everyLaneTopic, readLaneTable } from './lane-table.ts';
import { readPartition } from './partition-reader.ts';
import { isNeeded, type SessionSource, type SourceRecord, sessionUnknown } from './source.ts';

export type LogReading = ContentStores & Readonly<{ log: LogPort; codec: Codec }>;

const otherLogs: readonly string[] = topics
  .filter((topic) => topic.kind === 'session-log' && !lanes.map(sessionTopic).includes(topic.name))
  .map((topic) => topic.name);

/** Topics where a session of this id may be, the likeliest first. Goal logs, key logs and sinks have topics of their own. */
function candidates(session: string, table: LaneTable): readonly string[] {
  const kind = session.slice(0, session.indexOf('_') + 1);
  const own = { goal_: 'keys', key_: 'keys', sink_: 'sinks' }[kind];
  const all = [...everyLaneTopic(table), ...otherLogs];
  const isOwn = (topic: string): boolean => firstGeneration(topic).endsWith(`.${own ?? 'normal'}`);
  return [...all.filter(isOwn), ...all.filter((topic) => !isOwn(topic))];
}

type Place = PartitionName & Readonly<{ bounds: Bounds }>;

async function placeIn(log: LogPort, topic: string, session: string): Promise<Place | undefined> {
  const all = await boundsIfThere(log, topic);
  if (all.size === 0) return undefined;
  const partition = partitionOf(session, all.size);
  const bounds = all.get(partition);
  return bounds === undefined ? undefined : { topic, partition, bounds };
}

/** A header of ours; a malformed one is of another program, for every reader alike. */
function headerOf(record: LogRecord): RecordHeader | undefined {
  try {
    return parseHeader(record.headers);
  } catch (thrown) {
    if (toError(thrown) instanceof LongreinError) return undefined;
    throw thrown;
  }
}

async function holds(log: LogPort, place: Place, session: string): Promise<boolean> {
  for await (const record of readPartition(log, place, place.bounds)) {
    if (headerOf(record)?.session === session) return true;
  }
  return false;
}

async function bodyOf(
  record: LogRecord,
  header: RecordHeader,
  reading: LogReading,
): Promise<RecordBody | undefined> {
  if (record.value === null) return undefined;
  let body: RecordBody;
  try {
    body = reading.codec.decode(record.value).body as RecordBody;
  } catch (thrown) {
    // Bytes that cannot be read are nobody's, as for the services (S2).
    if (thrown instanceof LongreinError && !thrown.retryable) return undefined;
    throw thrown;
  }
  return await withSharedPast(await fillFromStores(body, header, reading), reading);
}

/** A past that is gone leaves the record as it stands: what needs it says so. */
async function withSharedPast(body: RecordBody, reading: LogReading): Promise<RecordBody> {
  try {
    const { log, codec } = reading;
    const fill: FillBody = (one, of) => fillFromStores(one, of, reading);
    return await withPast(body, { log, codec, fill });
  } catch (thrown) {
    if (thrown instanceof LongreinError && !thrown.retryable) return body;
    throw thrown;
  }
}

async function* recordsOf(
  reading: LogReading,
  place: PartitionName,
  { session, bounds }: Readonly<{ session: string; bounds: Bounds }>,
): AsyncGenerator<SourceRecord> {
  for await (const record of readPartition(reading.log, place, bounds)) {
    const header = headerOf(record);
    if (header === undefined || !isNeeded(header, session)) continue;
    const { offset } = record;
    const body = header.session === session ? await bodyOf(record, header, reading) : undefined;
    yield body === undefined ? { offset, header } : { offset, header, body };
  }
}

const after = ({ high }: Bounds): Bounds => ({ low: high, high: Number.POSITIVE_INFINITY });

/** Where the janitor cut the log, and who owned what there; nothing where it was not cut, or not by a janitor. */
async function ownersAt(
  log: LogPort,
  { topic, partition, bounds }: Place,
): Promise<AcceptanceState> {
  if (bounds.low === 0) return {};
  const watermarks = new Watermarks({ log, logger: quietLogger, codec: createFixedCodec() });
  await watermarks.start();
  try {
    await watermarks.current();
    const trim = watermarks.trimAt({ topic, partition });
    return trim?.offset === bounds.low ? trim.acceptance : {};
  } finally {
    await watermarks.stop();
  }
}

async function sourceAt(
  reading: LogReading,
  place: Place,
  session: string,
): Promise<SessionSource> {
  const { topic, partition, bounds } = place;
  return {
    session,
    topic,
    partition,
    origin: `kafka ${topic}/${partition}`,
    from: bounds.low,
    acceptance: await ownersAt(reading.log, place),
    whole: bounds.low === 0,
    records: () => recordsOf(reading, place, { session, bounds }),
    later: () => recordsOf(reading, place, { session, bounds: after(bounds) }),
  };
}

/** Where a session is known to be: a place before its first record, with who owned what there, and where to stop. */
export type KnownPlace = PartitionName &
  Readonly<{ from: Readonly<{ offset: number; acceptance: AcceptanceState }>; to: number }>;

/** A session from a place that somebody knows, up to `to`: nothing is searched, and nothing below is read. */
export function readFromPlace(
  reading: LogReading,
  session: string,
  { topic, partition, from, to }: KnownPlace,
): SessionSource {
  const bounds = { low: from.offset, high: to };
  return {
    ...{ session, topic, partition, origin: `kafka ${topic}/${partition}` },
    ...{ from: from.offset, acceptance: from.acceptance, whole: true },
    records: () => recordsOf(reading, { topic, partition }, { session, bounds }),
  };
}

/**
 * A session as it stands in the log now. Without `topic` every session log is searched, in the one partition that the id
 * belongs to. Throws LongreinError SESSION_UNKNOWN, and what the log port throws.
 */
export async function readFromLog(
  reading: LogReading,
  session: string,
  topic?: string,
): Promise<SessionSource> {
  const searched =
    topic === undefined ? candidates(session, await readLaneTable(reading.log)) : [topic];
  for (const one of searched) {
    const place = await placeIn(reading.log, one, session);
    if (place !== undefined && (await holds(reading.log, place, session)))
      return await sourceAt(reading, place, session);
  }
  const fix =
    'list sessions with `longrein session list`, or read an export or ClickHouse if the log was trimmed';
  throw sessionUnknown(session, `the log (${searched.join(', ')})`, fix);
}
