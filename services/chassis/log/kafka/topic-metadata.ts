/** What an answer to a metadata request says of one topic. */
import type { TopicSpec } from '../port.ts';
import type { Answers } from './wire.ts';

const UNKNOWN_TOPIC = 3;

/** Undefined when the topic does not exist, or is only just being made. */
export function partitionCount(answer: Answers['Metadata'], topic: string): number | undefined {
  const partitions = partitionsOf(answer, topic);
  return partitions.length === 0 ? undefined : partitions.length;
}

/** Whether all partitions are there and have a leader. */
export function isServed(answer: Answers['Metadata'], { name, partitions }: TopicSpec): boolean {
  const found = partitionsOf(answer, name);
  return found.length === partitions && found.every(({ leader }) => leader >= 0);
}

function partitionsOf(answer: Answers['Metadata'], topic: string): readonly { leader: number }[] {
  const found = answer.topicMetadata.find((entry) => entry.topic === topic);
  if (found === undefined || found.topicErrorCode === UNKNOWN_TOPIC) return [];
  return found.partitionMetadata;
}
