/** Changes of the generations of the lanes: read the table, change it, write it back. */
import { readLaneTable } from '../../../replay-tools/read/lane-table.ts';
import { registryTopic } from '../../../schemas/topics.ts';
import type { RuntimeConfig } from '../../chassis/config/runtime-config.ts';
import {
  type LaneTable,
  laneTableKey,
  laneTopics,
  newestGeneration,
  withGeneration,
  withoutGeneration,
} from '../../chassis/host/lane-table.ts';
import { topicSpecs } from '../../chassis/host/topic-specs.ts';
import type { Deed } from '../../chassis/host/watermark-records.ts';
import type { LogPort } from '../../chassis/log/port.ts';

type Topics = Pick<RuntimeConfig, 'partitions'>;

async function writeTable(log: LogPort, table: LaneTable): Promise<void> {
  const { generation } = newestGeneration(table);
  const headers = { ce_type: 'longrein.registry.lanes.v1', ce_id: `${laneTableKey}/${generation}` };
  const value = Buffer.from(JSON.stringify(table));
  const record = { key: laneTableKey, headers, value };
  await log.append({ topic: registryTopic, partition: 0 }, [record]);
}

/**
 * Makes the topics of one more generation, then says that new sessions go there. Two people at once are told apart by
 * the broker: the topics of a generation are made once, with one number of partitions.
 */
export async function addGeneration(
  log: LogPort,
  partitions: number,
  deed: Deed,
): Promise<LaneTable> {
  const { atMs, by, reason } = deed;
  const before = await readLaneTable(log);
  const after = withGeneration(before, { partitions, addedAtMs: atMs, by, reason });
  const [first] = before.generations;
  const config: Topics = { partitions: first?.partitions ?? partitions };
  const names = new Set(laneTopics(after).map(({ topic }) => topic));
  await log.ensureTopics(topicSpecs(config, after).filter(({ name }) => names.has(name)));
  await writeTable(log, after);
  return after;
}

/** Says that hosts need not read a generation any more. Whether it still holds open sessions is for the caller to see. */
export async function retireGeneration(
  log: LogPort,
  generation: number,
  deed: Deed,
): Promise<LaneTable> {
  const after = withoutGeneration(await readLaneTable(log), generation, deed);
  await writeTable(log, after);
  return after;
}
