import { exportLines } from '../../replay-tools/export/export.ts';
import { parseExport } from '../../replay-tools/read/file.ts';
import { readFromLog } from '../../replay-tools/read/kafka.ts';
import type { SessionSource, SourceRecord } from '../../replay-tools/read/source.ts';
import type { BlobPort } from '../../services/chassis/content/blobs.ts';
import type { ContentKeys } from '../../services/chassis/content/content-keys.ts';
import type { MemoryWorld } from './memory-world.ts';

/** Sessions of a simulated world as the replay tools read them. */

export type WorldReading = Readonly<{ topic?: string; blobs?: BlobPort; keys?: ContentKeys }>;

/** The session as an export, read from the world's log; the world's time goes on a little meanwhile. */
export async function exportFromWorld(
  world: MemoryWorld,
  session: string,
  { topic, blobs, keys }: WorldReading = {},
): Promise<string> {
  const log = world.connect('replay');
  const opening = keys === undefined ? {} : { keys };
  const reading = { log, codec: world.codec, blobs: blobs ?? world.blobs, ...opening };
  const seal = keys?.sealOf(session);
  const write = async (): Promise<string> => {
    const source = await readFromLog(reading, session, topic);
    let text = '';
    for await (const line of exportLines(source, { release: '0.0.0-world', seal })) text += line;
    return text;
  };
  return world.during(write());
}

/** The session as a source that needs the world no more. */
export async function sourceFromWorld(
  world: MemoryWorld,
  session: string,
  reading: WorldReading = {},
): Promise<SessionSource> {
  const text = await exportFromWorld(world, session, reading);
  return parseExport([text], `world of ${session}`, reading.keys);
}

/** All records of a source. */
export async function recordsOf(source: SessionSource): Promise<readonly SourceRecord[]> {
  const records: SourceRecord[] = [];
  for await (const record of source.records()) records.push(record);
  return records;
}

/** The same source with other records. */
export const withRecords = (
  source: SessionSource,
  records: readonly SourceRecord[],
): SessionSource => ({
  ...source,
  async *records() {
    yield* records;
  },
});
