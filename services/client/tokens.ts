import type { ModelTokens } from '../../schemas/tokens.ts';
import { tokensTopic } from '../../schemas/topics.ts';
import { partitionOf } from '../chassis/log/partition.ts';
import type { LogPort, LogRecord } from '../chassis/log/port.ts';
import { StackEmptyError } from './errors.ts';
import { partitionsOf } from './publish.ts';
import { bodyOfRecord } from './record-body.ts';
import type { Tail } from './tail.ts';

export type { ModelTokens } from '../../schemas/tokens.ts';

/** What the record says of this session; undefined where it is of another, or nothing of the kind. */
function tokensIn(record: LogRecord, session: string): ModelTokens | undefined {
  if (record.key !== session) return undefined;
  const body = bodyOfRecord(record) as Partial<ModelTokens> | undefined;
  const { call, text, at } = body ?? {};
  const isOne = typeof call === 'string' && typeof text === 'string' && typeof at === 'number';
  return isOne ? (body as ModelTokens) : undefined;
}

/**
 * Hears what models say in a session from now on; the answer ends that. It is only for watching: pieces may be lost, and
 * where the topic is not there or cannot be read on, nothing is heard and nothing else is different.
 */
export async function hearTokens(
  { log, tail, session }: Readonly<{ log: LogPort; tail: Tail; session: string }>,
  onTokens: (tokens: ModelTokens) => void,
): Promise<() => void> {
  try {
    const partition = partitionOf(session, await partitionsOf(log, tokensTopic));
    const { stop } = await tail.listen(
      { topic: tokensTopic, partition },
      {
        take: (record) => {
          const tokens = tokensIn(record, session);
          if (tokens !== undefined) onTokens(tokens);
        },
        fail: () => undefined,
      },
    );
    return stop;
  } catch (thrown) {
    // Hosts of an older release have not made the topic.
    if (thrown instanceof StackEmptyError) return () => undefined;
    throw thrown;
  }
}
