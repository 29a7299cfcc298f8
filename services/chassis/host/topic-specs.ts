import { limits } from '../../../schemas/limits.ts';
import {
  firstGeneration,
  partitionsOf,
  registryTopic,
  type TopicDefinition,
  topicConfig,
  topics,
} from '../../../schemas/topics.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import type { TopicSpec } from '../log/port.ts';
import { firstTable, type LaneTable, laneTopics } from './lane-table.ts';

type Installation = Pick<RuntimeConfig, 'partitions'> &
  Partial<Pick<RuntimeConfig, 'replication' | 'fsync'>>;

const specOf = (
  topic: TopicDefinition,
  partitions: number,
  { replication = 1, fsync = false }: Installation,
): TopicSpec => ({
  name: topic.name,
  partitions,
  config: topicConfig(topic, limits.recordBytesMax + 65_536, { replication, fsync }),
});

/** What the topics of the lanes are, in all generations in use, and all others of this installation. */
export function topicSpecs(
  config: Installation,
  table: LaneTable = firstTable(config.partitions),
): TopicSpec[] {
  const known = new Map(topics.map((topic) => [topic.name, topic]));
  const ofLanes = laneTopics(table).flatMap(({ topic, partitions }) => {
    const definition = known.get(firstGeneration(topic));
    return definition === undefined
      ? []
      : [{ ...specOf(definition, partitions, config), name: topic }];
  });
  const laneNames = new Set(laneTopics(firstTable(1)).map(({ topic }) => topic));
  const others = topics.filter(({ name }) => !laneNames.has(name));
  return [
    ...ofLanes,
    ...others.map((one) => specOf(one, partitionsOf(one, config.partitions), config)),
  ];
}

/** The topic that says which others there are. */
export const registrySpecs = (config: Installation): TopicSpec[] =>
  topics
    .filter(({ name }) => name === registryTopic)
    .map((one) => specOf(one, partitionsOf(one, config.partitions), config));
