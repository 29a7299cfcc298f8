/** What the logs hold of the sessions that are to be erased: whether they ended, and where their contents are. */
import { keysTopic } from '../../../../schemas/topics.ts';
import { keyOwnerOf } from '../../../chassis/content/content-keys.ts';
import { contentsOf } from '../../../chassis/content/contents.ts';
import {
  boundsIfThere,
  everyLaneTopic,
  readLaneTable,
} from '../../../chassis/host/read-lane-table.ts';
import { Watermarks } from '../../../chassis/host/watermarks.ts';
import { createFixedCodec, schemaIdOf } from '../../../chassis/log/codec.ts';
import { partitionOf } from '../../../chassis/log/partition.ts';
import { readPartition } from '../../../chassis/log/partition-reader.ts';
import type { Bounds, LogPort, LogRecord, PartitionName } from '../../../chassis/log/port.ts';
import {
  type AcceptanceState,
  accept,
  copyAcceptance,
} from '../../../chassis/protocol/acceptance.ts';
import { goalLogId } from '../../../chassis/protocol/ids.ts';
import {
  parseHeader,
  type RecordBody,
  type RecordHeader,
} from '../../../chassis/protocol/record.ts';
import {
  foldCore,
  type SessionCore,
  unknownSession,
} from '../../../chassis/protocol/session-core.ts';
import { quietLogger } from '../../../chassis/telemetry/quiet-logger.ts';
import { bodyOfRecord } from '../../../client/record-body.ts';
import type { RowPlace } from '../../../event-store/erasure.ts';

/** `session`: the session itself, not its goal's log. */
export type Wanted = Readonly<{ session: string } | { tenant: string }>;

/** One log, of a session or of its goal. */
export type FoundLog = Readonly<{
  log: string;
  at: PartitionName;
  /** Offset of its newest record. */
  last: number;
  closed: boolean;
  /** Some of its contents are sealed; some stand open. */
  sealed: boolean;
  open: boolean;
  erased: boolean;
  blobs: ReadonlySet<string>;
  /** Sessions that it opened for branches of its own. */
  children: ReadonlySet<string>;
  /** The goal as it was published, and its repeats. */
  origins: readonly RowPlace[];
  /** Of its inputs, as the registry of this log numbers them; undefined where none is left. */
  schemaId: number | undefined;
}>;

export type FoundSession = Readonly<{
  session: string;
  tenant: string;
  logs: readonly FoundLog[];
}>;

type Growing = {
  -readonly [K in keyof FoundLog]: FoundLog[K] extends ReadonlySet<string>
    ? Set<string>
    : FoundLog[K] extends readonly RowPlace[]
      ? RowPlace[]
      : FoundLog[K];
} & { core: SessionCore; tenant: string };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** One partition, read by the rules that every reader follows. */
class PartitionSurvey {
  readonly logs = new Map<string, Growing>();
  private readonly acceptance: AcceptanceState;
  private readonly at: PartitionName;
  private readonly wanted: Wanted;

  constructor(at: PartitionName, acceptance: AcceptanceState, wanted: Wanted) {
    this.at = at;
    this.acceptance = copyAcceptance(acceptance);
    this.wanted = wanted;
  }

  take(record: LogRecord): void {
    const header = headerOf(record);
    if (header === undefined) return;
    const accepted = accept(this.acceptance, header);
    if (header.kind === 'epoch' || !this.mayBeWanted(header.session)) return;
    const body = bodyOfRecord(record) as RecordBody | undefined;
    if (!isObject(body) || body.kind === 'epoch' || body.kind !== header.kind) return;
    const log = this.logOf(header.session, body);
    if (log === undefined) return;
    log.last = record.offset;
    note(log, record, { header, body });
    if (accepted && body.kind !== 'checkpoint') this.fold(log, record, { header, body });
  }

  private mayBeWanted(log: string): boolean {
    if ('session' in this.wanted) return keyOwnerOf(log) === this.wanted.session;
    return /^(goal_)?ses_/.test(log);
  }

  private logOf(name: string, body: RecordBody): Growing | undefined {
    const known = this.logs.get(name);
    if (known !== undefined) return known;
    const tenant = 'tenant' in body ? body.tenant : '';
    if ('tenant' in this.wanted && tenant !== this.wanted.tenant) return undefined;
    const log: Growing = {
      ...{ log: name, at: this.at, tenant, last: -1, core: unknownSession(name) },
      ...{ closed: false, sealed: false, open: false, erased: false, schemaId: undefined },
      ...{ blobs: new Set(), children: new Set(), origins: [] },
    };
    this.logs.set(name, log);
    return log;
  }

  /** Where the beginning was cut, only the header says that it ended. */
  private fold(
    log: Growing,
    { offset }: LogRecord,
    { header, body }: Readonly<{ header: RecordHeader; body: RecordBody }>,
  ): void {
    log.core = foldCore(log.core, { offset, header, body }).core;
    const cut = log.core.status === 'unknown' && header.kind === 'turn';
    log.closed ||= log.core.status === 'closed' || (cut && header.types.includes('session.closed'));
  }
}

function headerOf({ headers }: LogRecord): RecordHeader | undefined {
  return parseHeader(headers);
}

/** What a record says of contents. */
function note(
  log: Growing,
  record: LogRecord,
  { header, body }: Readonly<{ header: RecordHeader; body: RecordBody }>,
): void {
  const contents = contentsOf(body);
  for (const { content } of contents) if (content.blob !== undefined) log.blobs.add(content.blob);
  if (contents.length > 0 && header.codec !== undefined) log.sealed = true;
  if (contents.length > 0 && header.codec === undefined) log.open = true;
  const events = body.kind === 'turn' ? body.events : [];
  for (const { type, data } of events)
    if (type === 'child.opened') log.children.add(String(data['child']));
  if (body.kind !== 'input') return;
  if (record.value !== null) log.schemaId ??= schemaIdOf(record.value);
  if (body.event.type === 'session.erased') log.erased = true;
  const { origin } = body.event.data as { origin?: unknown };
  if (isObject(origin) && typeof origin['topic'] === 'string')
    log.origins.push(origin as unknown as RowPlace);
}

type Place = PartitionName & Readonly<{ bounds: Bounds }>;

/** Partitions where such logs can be. */
async function placesOf(log: LogPort, wanted: Wanted): Promise<readonly Place[]> {
  const lanes = everyLaneTopic(await readLaneTable(log));
  const places: Place[] = [];
  for (const topic of [...lanes, keysTopic]) {
    const all = await boundsIfThere(log, topic);
    for (const [partition, bounds] of all) {
      const name = 'session' in wanted ? wanted.session : undefined;
      const id = topic === keysTopic && name !== undefined ? goalLogId(name) : name;
      if (id === undefined || partitionOf(id, all.size) === partition)
        places.push({ topic, partition, bounds });
    }
  }
  return places;
}

type Reading = Readonly<{ log: LogPort; watermarks: Watermarks }>;

async function survey({ log, watermarks }: Reading, wanted: Wanted): Promise<readonly Growing[]> {
  const found: Growing[] = [];
  for (const { bounds, ...at } of await placesOf(log, wanted)) {
    const trim = bounds.low === 0 ? undefined : watermarks.trimAt(at);
    const acceptance = trim?.offset === bounds.low ? trim.acceptance : {};
    const partition = new PartitionSurvey(at, acceptance, wanted);
    for await (const record of readPartition(log, at, bounds)) partition.take(record);
    found.push(...partition.logs.values());
  }
  return found;
}

/** With the sessions that it opened. Those of a tenant are found as they are: children have its tenant. */
async function withChildren(reading: Reading, wanted: Wanted): Promise<readonly Growing[]> {
  if ('tenant' in wanted) return await survey(reading, wanted);
  const found: Growing[] = [];
  const sessions = new Set([wanted.session]);
  for (const session of sessions) {
    const logs = await survey(reading, { session });
    for (const child of logs.flatMap(({ children }) => [...children])) sessions.add(child);
    found.push(...logs);
  }
  return found;
}

/** Reads all partitions where wanted sessions can be. Throws what the log throws. */
export async function surveyLogs(
  log: LogPort,
  wanted: Wanted,
): Promise<ReadonlyMap<string, FoundSession>> {
  const watermarks = new Watermarks({ log, logger: quietLogger, codec: createFixedCodec() });
  await watermarks.start();
  try {
    await watermarks.current();
    return bySession(await withChildren({ log, watermarks }, wanted));
  } finally {
    await watermarks.stop();
  }
}

function bySession(found: readonly Growing[]): ReadonlyMap<string, FoundSession> {
  const sessions = new Map<string, FoundSession>();
  for (const log of found) {
    const session = keyOwnerOf(log.log);
    const known = sessions.get(session);
    const tenant = known?.tenant || log.tenant;
    sessions.set(session, { session, tenant, logs: [...(known?.logs ?? []), log] });
  }
  return sessions;
}
