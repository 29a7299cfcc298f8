import { keysTopic } from '../../schemas/topics.ts';
import type { HostPorts } from '../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import type { LogPort, LogRecord } from '../../services/chassis/log/port.ts';
import { boundsIfThere } from './lane-table.ts';
import { readOpenSessions } from './open-sessions.ts';
import { readPartition } from './partition-reader.ts';

/** A goal that has not ended, with the lane that its session has or will get; undefined where the log does not tell. */
export type WaitingGoal = Readonly<{ goalLog: string; lane: string | undefined }>;

const codec = createFixedCodec();

type Received = Readonly<{ event?: { data?: { lane?: unknown } } }>;

function laneIn({ value }: LogRecord): string | undefined {
  if (value === null) return undefined;
  try {
    const { event } = codec.decode(value).body as Received;
    return typeof event?.data?.lane === 'string' ? event.data.lane : undefined;
  } catch {
    // Bytes that nobody can read are nobody's goal.
    return undefined;
  }
}

/**
 * Goals that have not ended, those that wait for their key too: the session of such a goal opens later, in the lane
 * that was settled when the goal came.
 */
export async function readWaitingGoals(
  log: LogPort,
  logger: HostPorts['logger'],
): Promise<readonly WaitingGoal[]> {
  const opened = await readOpenSessions(log, logger, [keysTopic]);
  const open = new Set(
    opened.flatMap((partition) => partition.open).filter((id) => id.startsWith('goal_')),
  );
  const found = new Map<string, string>();
  for (const [partition, bounds] of await boundsIfThere(log, keysTopic))
    for await (const record of readPartition(log, { topic: keysTopic, partition }, bounds)) {
      const { ce_subject: goalLog = '', lr_types: types } = record.headers;
      if (types !== 'goal.received' || !open.has(goalLog) || found.has(goalLog)) continue;
      const lane = laneIn(record);
      if (lane !== undefined) found.set(goalLog, lane);
    }
  return [...open].map((goalLog) => ({ goalLog, lane: found.get(goalLog) }));
}
