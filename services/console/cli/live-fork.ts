/** Opens a fork that goes on live: the only thing that a verb of `longrein replay` ever writes to the log. */

import { randomBytes } from 'node:crypto';
import { userInfo } from 'node:os';
import {
  type LiveFork,
  type LiveForkOptions,
  liveFork,
} from '../../../replay-tools/fork/live-fork.ts';
import type { Happening, History } from '../../../replay-tools/read/history.ts';
import { limits } from '../../../schemas/limits.ts';
import { type BlobPort, createDirectoryBlobs } from '../../chassis/content/blobs.ts';
import { type ContentKeys, contentCodec } from '../../chassis/content/content-keys.ts';
import { sealContents, spillContents } from '../../chassis/content/spill.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { type Codec, createCodec, schemaIdOf } from '../../chassis/log/codec.ts';
import { partitionOf } from '../../chassis/log/partition.ts';
import { readPartition } from '../../chassis/log/partition-reader.ts';
import type { LogPort } from '../../chassis/log/port.ts';
import { headersOf, type InputBody } from '../../chassis/protocol/record.ts';
import { blobDirOf, contentKeysOf } from './config.ts';
import { withLog } from './log-client.ts';
import type { Environment } from './terminal.ts';

/** The schema that inputs are written with: the one of the input that the shared past begins with. */
async function codecLike(log: LogPort, fork: LiveFork) {
  const { topic, partition, from } = fork.body.event.data as Readonly<{
    topic: string;
    partition: number;
    from: number;
  }>;
  const one = { low: from, high: from + 1 };
  for await (const { value } of readPartition(log, { topic, partition }, one)) {
    const id = value === null ? undefined : schemaIdOf(value);
    if (id !== undefined) return createCodec(new Map([['input', id]]));
  }
  throw new LongreinError(
    'FORK_NOT_LIVE',
    `${topic}/${partition} has no input at ${from} to go on from`,
    {
      fix: 'rehearse it: leave out --tools live and --models live',
    },
  );
}

type Places = Readonly<{ keys: ContentKeys; blobs: BlobPort; codec: Codec }>;

type Opening = Readonly<{ topic: string; session: string; id: string; body: InputBody }>;

async function append(
  log: LogPort,
  { topic, session, id, body }: Opening,
  { keys, blobs, codec }: Places,
): Promise<void> {
  const partition = partitionOf(session, (await log.bounds(topic)).size);
  const seal = keys.sealOf(session);
  const sealed = seal === undefined ? {} : { codec: contentCodec };
  const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '', ...sealed });
  // Recorded answers can be large, as contents of every record.
  const spilled = await spillContents(body, blobs, limits.contentInlineBytesMax, seal);
  const written = seal === undefined ? spilled : sealContents(spilled, seal);
  const value = codec.encode('input', written);
  await log.append({ topic, partition }, [{ key: session, headers, value }]);
}

/** The fork, then its goal log: without the fork that one would wait for ever. */
async function open(log: LogPort, fork: LiveFork, at: Omit<Places, 'codec'>): Promise<void> {
  const codec = await codecLike(log, fork);
  for (const opening of [fork, fork.goal]) await append(log, opening, { ...at, codec });
}

/** What is sealed there is not written open here. */
function makeKey(keys: ContentKeys, session: string, tenant: string): void {
  if (keys.begin(session, tenant)) return;
  const message = `the past that ${session} would share is sealed, and tenant ${tenant} has no key here`;
  throw new LongreinError('CONTENT_KEYS_NEEDED', message, {
    fix: 'set LONGREIN_TENANT_KEYS_FILE or LONGREIN_TENANT_KEYS_COMMAND as the hosts have them',
  });
}

/** Opens the fork in the log. Throws as `liveFork`, and what the log throws. */
export async function openLiveFork(
  environment: Environment,
  history: History,
  at: Happening,
  wanted: Pick<LiveForkOptions, 'settings' | 'tools'>,
): Promise<LiveFork> {
  const keys = contentKeysOf(environment);
  const blobs = createDirectoryBlobs(blobDirOf(environment));
  const fork = await liveFork(history, at, {
    ...wanted,
    seal: (session, tenant) => makeKey(keys, session, tenant),
    principal: userInfo().username,
    nonce: randomBytes(16).toString('hex'),
    nowMs: Date.now(),
  });
  await withLog(environment, (log) => open(log, fork, { keys, blobs }));
  return fork;
}
