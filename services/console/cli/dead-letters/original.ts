/** Bytes that a letter does not hold, from where the record of its origin stands. */
import { readPartition } from '../../../../replay-tools/read/partition-reader.ts';
import { goalsTopic } from '../../../../schemas/topics.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import type { Letter } from './letter.ts';

/**
 * A letter about a goal that its log did not take names the goal's record, and does not hold it: with the bytes, where the
 * topic still has them; else the letter as it is. Throws LongreinError PARTITION_UNREADABLE.
 */
export async function withOriginal(log: LogPort, letter: Letter): Promise<Letter> {
  const { original, service, origin } = letter;
  const { topic, partition, offset } = origin;
  if (original !== undefined || service !== undefined || topic !== goalsTopic) return letter;
  const bounds = (await log.bounds(topic)).get(partition);
  if (bounds === undefined || offset < bounds.low || offset >= bounds.high) return letter;
  const at = { low: offset, high: offset + 1 };
  for await (const { key, headers, value } of readPartition(log, { topic, partition }, at))
    if (value !== null)
      return { ...letter, key, headers, original: Buffer.from(value).toString('base64') };
  return letter;
}
