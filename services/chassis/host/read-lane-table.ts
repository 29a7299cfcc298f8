import { laneAt, lanes, registryTopic, sessionTopic } from '../../../schemas/topics.ts';
import { LongreinError } from '../errors.ts';
import { readPartition } from '../log/partition-reader.ts';
import type { Bounds, LogPort } from '../log/port.ts';
import { firstTable, type LaneTable, laneTableKey, parseLaneTable } from './lane-table.ts';

/** Bounds of a topic by partition; none where the installation has no such topic. */
export async function boundsIfThere(
  log: LogPort,
  topic: string,
): Promise<ReadonlyMap<number, Bounds>> {
  try {
    return await log.bounds(topic);
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'TOPIC_UNKNOWN') return new Map();
    throw thrown;
  }
}

/** The generations of the lanes as the registry tells them now, with the number of the record that said so. */
export async function readLaneTable(log: LogPort): Promise<LaneTable> {
  const bounds = (await boundsIfThere(log, registryTopic)).get(0);
  let newest: Uint8Array | null = null;
  if (bounds !== undefined) {
    const at = { topic: registryTopic, partition: 0 };
    for await (const record of readPartition(log, at, bounds))
      if (record.key === laneTableKey) newest = record.value;
  }
  if (newest !== null) return parseLaneTable(newest);
  const [lane = 'normal'] = lanes;
  return firstTable((await boundsIfThere(log, sessionTopic(lane))).size || 1);
}

/** Topics where a session of the lanes may be, of retired generations too; the newest generation first. */
export const everyLaneTopic = ({ generations }: LaneTable): readonly string[] =>
  [...generations]
    .reverse()
    .flatMap(({ generation }) => lanes.map((lane) => sessionTopic(laneAt(lane, generation))));
