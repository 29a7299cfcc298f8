/**
 * What becomes of one goal, as it happens: events of its goal log and of its session, and the
 * result. Reads outside every consumer group; a reader of its own for each of the partitions.
 */
import type { SeenEvent } from '../../../schemas/event.ts';
import { keysTopic, resultsTopic } from '../../../schemas/topics.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { partitionOf } from '../../chassis/log/partition.ts';
import type { LogPort, LogRecord, PartitionName, Reader } from '../../chassis/log/port.ts';
import type { AcceptanceState } from '../../chassis/protocol/acceptance.ts';
import { goalLogId } from '../../chassis/protocol/ids.ts';
import { parseHeader, type RecordBody } from '../../chassis/protocol/record.ts';
import { foldCore, type SessionCore, unknownSession } from '../../chassis/protocol/session-core.ts';
import { acceptLive } from './live-acceptance.ts';
import { bodyOfRecord, boundsOf } from './log-client.ts';

/** The public result of a goal, as in schemas/public/result.v1.json. */
export interface GoalResult {
  readonly goalId: string;
  readonly session: string;
  readonly status: 'completed' | 'failed' | 'cancelled' | 'rejected';
  readonly output?: unknown;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly field?: string;
    readonly fix?: string;
    readonly task?: string;
  };
  readonly usage: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costNanoUsd: number;
  };
  readonly openedAt: string;
  readonly endedAt: string;
}

export interface FeedOptions {
  readonly log: LogPort;
  readonly session: string;
  /** Topics of the lanes: a goal that was asked for before may have its session in any of them. */
  readonly laneTopics: readonly string[];
  /** From the start of the log, for a goal that may have been asked for before. */
  readonly fromStart: boolean;
  onEvent(event: SeenEvent): void;
}

export interface Feed {
  /** Settles when the result is there, or when it can no longer be read. */
  readonly result: Promise<GoalResult>;
  close(): Promise<void>;
}

/** Opens the feed; when it resolves, nothing that is written from now on is missed. */
export async function openFeed(options: FeedOptions): Promise<Feed> {
  const { log, session } = options;
  const places = [
    [keysTopic, goalLogId(session)],
    [resultsTopic, session],
    ...options.laneTopics.map((topic) => [topic, session] as const),
  ] as const;
  let settle = (_: GoalResult): void => undefined;
  let fail = (_: Error): void => undefined;
  const result = new Promise<GoalResult>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  result.catch(() => undefined);
  const folds = [
    createFold(goalLogId(session), options.onEvent),
    resultOf(session, settle),
    ...options.laneTopics.map(() => createFold(session, options.onEvent)),
  ];
  const readers = await Promise.all(
    places.map(async ([topic, key], index) => {
      const starts = await boundsOf(log, topic);
      const partition = partitionOf(key, starts.size);
      const bounds = starts.get(partition) ?? { low: 0, high: 0 };
      const take = folds[index] ?? (() => undefined);
      const offset = options.fromStart ? bounds.low : bounds.high;
      return await readFrom(log, { topic, partition, offset }, { take, fail });
    }),
  );
  return {
    result,
    close: async () => void (await Promise.all(readers.map((reader) => reader.close()))),
  };
}

async function readFrom(
  log: LogPort,
  at: PartitionName & { offset: number },
  handlers: { take(record: LogRecord): void; fail(error: Error): void },
): Promise<Reader> {
  const reader = await log.reader({
    onRecords: (_, records) => records.forEach(handlers.take),
    onPartitionError: ({ topic, partition }, error) =>
      handlers.fail(
        new LongreinError('FEED_BROKEN', `${topic}/${partition} cannot be read: ${error.message}`, {
          fix: 'Run the command again with the same --id: the goal itself goes on.',
          retryable: true,
        }),
      ),
    onInterruption: () => undefined,
  });
  reader.assign({ topic: at.topic, partition: at.partition }, at.offset);
  return reader;
}

/** Follows one session log among those of its partition, by the rules of every reader. */
function createFold(session: string, onEvent: (event: SeenEvent) => void) {
  const acceptance: AcceptanceState = {};
  let core: SessionCore = unknownSession(session);
  return (record: LogRecord): void => {
    const header = headerOf(record);
    if (header === undefined || !acceptLive(acceptance, header)) return;
    if (header.session !== session) return;
    const body = bodyOfRecord(record) as RecordBody | undefined;
    if (body === undefined) return;
    const step = foldCore(core, { offset: record.offset, header, body });
    core = step.core;
    for (const event of step.events) onEvent(event);
  };
}

function headerOf(record: LogRecord) {
  try {
    return parseHeader(record.headers);
  } catch {
    // A record with a malformed header is ignored by every reader.
    return undefined;
  }
}

function resultOf(session: string, settle: (result: GoalResult) => void) {
  return (record: LogRecord): void => {
    if (record.key !== session) return;
    const body = bodyOfRecord(record) as GoalResult | undefined;
    if (body?.session === session) settle(body);
  };
}
