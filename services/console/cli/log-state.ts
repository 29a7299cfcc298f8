/**
 * What stands in the topics of presence and watermarks, for commands that look after the log: who lives and what stands
 * still, which services hold the log, and acts of people on both.
 */

import { readPartition } from '../../../replay-tools/read/partition-reader.ts';
import { limits } from '../../../schemas/limits.ts';
import {
  deadLettersTopic,
  presenceTopic,
  registryTopic,
  topics,
  watermarksTopic,
} from '../../../schemas/topics.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { Lanes } from '../../chassis/host/lanes.ts';
import type { Heartbeat } from '../../chassis/host/presence.ts';
import { type StalledMark, stalledMarks } from '../../chassis/host/stalled-marks.ts';
import { requireSameTopic } from '../../chassis/host/topic-identity.ts';
import { type Entry, Watermarks } from '../../chassis/host/watermarks.ts';
import { createCodec, createFixedCodec } from '../../chassis/log/codec.ts';
import type { LogPort, LogRecord, PartitionName } from '../../chassis/log/port.ts';
import { quietLogger } from '../../chassis/telemetry/quiet-logger.ts';
import { boundsOf } from '../../client/publish.ts';
import { bodyOfRecord } from '../../client/record-body.ts';
import { readLetters } from './dead-letters/topic.ts';

const codec = createFixedCodec();
const logger = quietLogger;
const recentRecords = 1_000;

/** Topics whose records wait for watermarks, with all generations of the lanes. */
export async function sessionLogs(log: LogPort): Promise<readonly string[]> {
  const names = topics.filter(({ kind }) => kind === 'session-log').map(({ name }) => name);
  return await withLanes(log, 1, (lanes) => names.flatMap((name) => lanes.topicsOf(name)));
}

/** What the lanes are made of. `partitions`: of the first generation, where the registry says nothing. */
export async function withLanes<T>(
  log: LogPort,
  partitions: number,
  work: (lanes: Lanes) => T,
): Promise<T> {
  await boundsOf(log, registryTopic);
  const lanes = new Lanes({ log, logger }, partitions);
  try {
    await lanes.start();
    return work(lanes);
  } finally {
    await lanes.stop();
  }
}

/** Reads all watermarks, and closes what it took. Throws STACK_EMPTY. */
export async function withWatermarks<T>(
  log: LogPort,
  work: (watermarks: Watermarks) => Promise<T>,
): Promise<T> {
  await boundsOf(log, watermarksTopic);
  const watermarks = new Watermarks({ log, codec, logger });
  await watermarks.start();
  try {
    await watermarks.current();
    return await work(watermarks);
  } finally {
    await watermarks.stop();
  }
}

async function newest(log: LogPort, topic: string): Promise<LogRecord[]> {
  const at = { topic, partition: 0 };
  const { low, high } = (await boundsOf(log, topic)).get(0) ?? { low: 0, high: 0 };
  const records: LogRecord[] = [];
  const bounds = { low: Math.max(low, high - recentRecords), high };
  for await (const record of readPartition(log, at, bounds)) records.push(record);
  return records;
}

/** Writes what a person did, in the form of the records that are there: that needs no registry. */
export async function writeEntries(log: LogPort, entries: readonly Entry[]): Promise<void> {
  const [last] = (await newest(log, watermarksTopic))
    .filter(({ value }) => value !== null)
    .slice(-1);
  if (last?.value == null) {
    throw new LongreinError('WATERMARKS_EMPTY', 'no host has written anything yet', {
      fix: 'start the services first: longrein up',
    });
  }
  const { schemaId } = codec.decode(last.value);
  const encoding = createCodec(new Map([['watermark', schemaId]]));
  await new Watermarks({ log, codec: encoding, logger }).put(entries);
}

/** Instances that were heard lately. */
export async function aliveHosts(log: LogPort, nowMs: number): Promise<readonly Heartbeat[]> {
  const beats = new Map<string, { beat: Heartbeat; atMs: number }>();
  for (const record of await newest(log, presenceTopic)) {
    const beat = bodyOfRecord(record) as Heartbeat | undefined;
    if (beat?.incarnation !== undefined)
      beats.set(beat.incarnation, { beat, atMs: record.timestampMs });
  }
  return [...beats.values()]
    .filter(({ beat, atMs }) => beat.ended !== true && nowMs - atMs < 2 * limits.presenceMs)
    .map(({ beat }) => beat);
}

export type Trouble = Readonly<{
  /** A partition, or a topic. */
  where: string;
  code: string;
  message: string;
  fix: string;
  sinceMs: number | undefined;
  host: string | undefined;
  /** Nothing is done there; else it is slow, or costs disk. */
  stops: boolean;
}>;

export type LogState = Readonly<{ hosts: readonly Heartbeat[]; troubles: readonly Trouble[] }>;

/** All that stands still, with the command that mends it. Reads only. */
export async function readLogState(log: LogPort, nowMs: number): Promise<LogState> {
  const hosts = await aliveHosts(log, nowMs);
  const halted = [...hosts.flatMap(haltedOn), ...hosts.flatMap(standingBy), ...ignoredBy(hosts)];
  const others = await withWatermarks(log, async (watermarks) => {
    const found = (await sessionLogs(log)).map((topic) =>
      troublesOf(log, watermarks, { topic, nowMs }),
    );
    return (await Promise.all(found)).flat();
  });
  const told = new Set(halted.filter(({ stops }) => stops).map(({ where }) => where.split('/')[0]));
  const unsaid = others.filter(({ where, stops }) => !stops || !told.has(where));
  const letters = await waitingLetters(log);
  return { hosts, troubles: [...halted, ...unsaid, ...janitorMissing(hosts), ...letters] };
}

/** Dead letters that nobody has looked after. */
async function waitingLetters(log: LogPort): Promise<Trouble[]> {
  const open = (await readLetters(log)).filter(({ state }) => state === 'open');
  const [first] = open;
  if (first === undefined) return [];
  const count = open.length === 1 ? 'a dead letter waits' : `${open.length} dead letters wait`;
  const message = `${count}, the oldest since ${first.at.slice(0, 19)}: ${first.reason.message}`;
  const fix = 'look at them: longrein dead-letters list';
  const rest = { host: undefined, sinceMs: undefined, stops: false };
  return [{ where: deadLettersTopic, code: 'DEAD_LETTERS', message, fix, ...rest }];
}

const haltedOn = ({ host, halted = {} }: Heartbeat): Trouble[] =>
  Object.entries(halted).map(([where, halt]) => ({ where, host, stops: true, ...halt }));

/** Sessions that wait there for hosts of a newer release. */
const standingBy = ({ host, standsBy = {} }: Heartbeat): Trouble[] =>
  Object.entries(standsBy).map(([where, { sessions, because, release }]) => {
    const author = release === '' ? 'a newer release' : `release ${release}`;
    const message = `${sessions} sessions stand by: ${because}, written by ${author}, is not understood here`;
    const fix = 'start hosts of the newer release: they go on with these sessions';
    const rest = { host, sinceMs: undefined, stops: false };
    return { where, code: 'NEWER_RELEASE', message, fix, ...rest };
  });

/** Records that every reader ignores, by who has counted most: the others read the same, or began later. */
export function ignoredBy(hosts: readonly Heartbeat[]): Trouble[] {
  const most = new Map<string, number>();
  for (const { ignored = {} } of hosts)
    for (const [where, count] of Object.entries(ignored))
      most.set(where, Math.max(count, most.get(where) ?? 0));
  return [...most].sort().map(([where, count]) => {
    const records = count === 1 ? 'a record' : `${count} records`;
    const message = `${records} of other programs, or that nobody can read, since its host began to read`;
    const fix = 'see the first of them: longrein dead-letters list; find out who writes there';
    const rest = { host: undefined, sinceMs: undefined, stops: false };
    return { where, code: 'RECORDS_IGNORED', message, fix, ...rest };
  });
}

async function troublesOf(
  log: LogPort,
  watermarks: Watermarks,
  { topic, nowMs }: { topic: string; nowMs: number },
): Promise<Trouble[]> {
  try {
    await requireSameTopic(log, watermarks, topic);
    const found: Trouble[] = [];
    for (const [partition, bounds] of await log.bounds(topic)) {
      const name: PartitionName = { topic, partition };
      found.push(...stalledMarks(watermarks, { name, bounds, nowMs }).map(stalled));
    }
    return found;
  } catch (thrown) {
    if (!(thrown instanceof LongreinError) || thrown.retryable) throw thrown;
    const { code, message, fix = `longrein topics reset ${topic} --reason "WHY"` } = thrown;
    return [{ where: topic, host: undefined, sinceMs: undefined, stops: true, code, message, fix }];
  }
}

const stalled = ({ topic, partition, message, fix, sinceMs }: StalledMark): Trouble => ({
  ...{ where: `${topic}/${partition}`, host: undefined, stops: false },
  ...{ code: 'WATERMARK_STALLED', message, fix, sinceMs },
});

/** Where services run and no janitor does, nothing is ever deleted. */
function janitorMissing(hosts: readonly Heartbeat[]): Trouble[] {
  if (hosts.length === 0 || hosts.some(({ services }) => services.includes('janitor'))) return [];
  const message = 'no host runs the janitor: session logs only grow';
  const fix = 'longrein start janitor (it is part of `longrein start all`)';
  const rest = { host: undefined, sinceMs: undefined, stops: false };
  return [{ where: 'janitor', code: 'JANITOR_MISSING', message, fix, ...rest }];
}
