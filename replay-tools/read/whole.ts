import type { SessionSource, SourceRecord } from './source.ts';

/** The session with its records in memory: what it was read from may be closed. */
export async function readWhole(source: SessionSource): Promise<SessionSource> {
  const records: SourceRecord[] = [];
  for await (const record of source.records()) records.push(record);
  const { later: _later, ...rest } = source;
  return {
    ...rest,
    async *records() {
      yield* records;
    },
  };
}
