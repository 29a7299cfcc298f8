import { LongreinError } from '../errors.ts';
import type { LogPort } from '../log/port.ts';
import { resetTopicCommand } from './mending.ts';
import { topicKey } from './watermark-records.ts';
import type { Watermarks } from './watermarks.ts';

/**
 * Offsets mean nothing in a topic that was deleted and made again, even where they lie within its bounds: the identity
 * of each topic is kept beside the watermarks. Throws LongreinError TOPIC_RECREATED (DESIGN 3.13).
 */
export async function requireSameTopic(
  log: Pick<LogPort, 'topicId'>,
  watermarks: Pick<Watermarks, 'topic'>,
  topic: string,
): Promise<string | undefined> {
  const id = await log.topicId(topic);
  const known = watermarks.topic(topic);
  if (id === undefined || known === undefined || known.id === id) return id;
  const since = new Date(known.atMs).toISOString();
  const message = `${topic} was deleted and made again: the watermarks, since ${since}, are of the topic before`;
  throw new LongreinError('TOPIC_RECREATED', message, {
    fix: `restore the topic from a backup; if what is gone may be lost: ${resetTopicCommand(topic)}`,
  });
}

/** Keeps the identity of a topic, for all who come later. Waits until the broker has it. */
export async function noteTopic(
  watermarks: Pick<Watermarks, 'topic' | 'put'>,
  known: { topic: string; id: string | undefined; atMs: number },
): Promise<void> {
  const { topic, id, atMs } = known;
  if (id === undefined || watermarks.topic(topic) !== undefined) return;
  await watermarks.put([{ key: topicKey(topic), value: { topic, id, atMs } }]);
}
