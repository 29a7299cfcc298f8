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

const specOf = (topic: TopicDefinition, partitions: number): TopicSpec => ({
  name: topic.name,
  partitions,
  config: topicConfig(topic, limits.recordBytesMax + 65_536),
});

/** What the topics of the lanes are, in all generations in use, and all others of this installation. */
export function topicSpecs(
  config: Pick<RuntimeConfig, 'partitions'>,
  table: LaneTable = firstTable(config.partitions),
): TopicSpec[] {
  const known = new Map(topics.map((topic) => [topic.name, topic]));
  const ofLanes = laneTopics(table).flatMap(({ topic, partitions }) => {
    const definition = known.get(firstGeneration(topic));
    return definition === undefined ? [] : [{ ...specOf(definition, partitions), name: topic }];
  });
  const laneNames = new Set(laneTopics(firstTable(1)).map(({ topic }) => topic));
  const others = topics.filter(({ name }) => !laneNames.has(name));
  return [...ofLanes, ...others.map((one) => specOf(one, partitionsOf(one, config.partitions)))];
}

/** The topic that says which others there are. */
export const registrySpecs = (config: Pick<RuntimeConfig, 'partitions'>): TopicSpec[] =>
  topics
    .filter(({ name }) => name === registryTopic)
    .map((one) => specOf(one, partitionsOf(one, config.partitions)));
