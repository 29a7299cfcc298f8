/** The errors that every log reports alike, whatever it is made of. */
import { LongreinError } from '../errors.ts';
import { AppendError } from './append-error.ts';
import type { PartitionName, Refusal, TopicSpec } from './port.ts';

/** How a partition is written in messages and used as a key. */
export function partitionKey({ topic, partition }: PartitionName): string {
  return `${topic}/${partition}`;
}

export function logClosed(): LongreinError {
  return new LongreinError('LOG_CLOSED', 'The log was closed.');
}

/** `name` is that of a topic, or of a partition of a topic that has fewer. */
export function topicUnknown(name: string): LongreinError {
  return new LongreinError('TOPIC_UNKNOWN', `The topic ${name} does not exist.`, {
    fix: 'Create the topics first, or check the name and the right to see it.',
  });
}

/** Throws `TOPIC_PARTITIONS_DIFFER` when the topic exists with another number of partitions. */
export function refuseOtherCount(spec: TopicSpec, actual: number | undefined): void {
  const { name, partitions } = spec;
  if (actual === undefined || actual === partitions) return;
  throw new LongreinError(
    'TOPIC_PARTITIONS_DIFFER',
    `The topic ${name} has ${actual} partitions, but ${partitions} are configured.`,
    { fix: `Configure ${actual} partitions, or use another topic: the number can never change.` },
  );
}

export function positionOutOfRange(partition: PartitionName, offset: number): LongreinError {
  return new LongreinError(
    'OFFSET_OUT_OF_RANGE',
    `Offset ${offset} of ${partitionKey(partition)} is not in the log.`,
    { fix: 'The records were deleted, or the topic was made anew: restore from a checkpoint.' },
  );
}

export function trimOutOfRange(partition: PartitionName, beforeOffset: number): LongreinError {
  return new LongreinError(
    'OFFSET_OUT_OF_RANGE',
    `${partitionKey(partition)} cannot be trimmed to ${beforeOffset}.`,
    { fix: 'Trim to an offset between the bounds of the partition.' },
  );
}

/** An append that failed, with its reason (an error, or a clause for the end of the message). */
export function appendFailed(
  known: 'uncertain' | Refusal,
  append: { partition: PartitionName; records: readonly unknown[] },
  reason: Error | string,
): AppendError {
  const what = known === 'uncertain' ? 'is uncertain' : `was refused (${known})`;
  const why = typeof reason === 'string' ? reason : reason.message;
  const where = `${append.records.length} records to ${partitionKey(append.partition)}`;
  const cause = typeof reason === 'string' ? undefined : reason;
  return new AppendError(known, `The append of ${where} ${what}: ${why}`, cause);
}
