import { sinksTopic } from '../../../schemas/topics.ts';
import { readPartition } from '../../chassis/log/partition-reader.ts';
import type { LogPort } from '../../chassis/log/port.ts';
import { textOf } from '../column-values.ts';
import { storedName } from '../decide.ts';
import { bodyOf, decodeRecord, isObject } from '../decoded-record.ts';
import { sourcesOf } from '../session-context.ts';

/** `topic/partition`, with the topic as rows call it -> offset after the last record that the event store has stored. */
export type StoredBounds = ReadonlyMap<string, number>;

/**
 * What the event store says that it has stored, from its own log. Below these offsets it never
 * writes again, so whoever writes only below them may do so beside it.
 */
export async function storedBounds(log: LogPort): Promise<StoredBounds> {
  const found = new Map<string, number>();
  const put = (key: string, next: number): void => {
    if (next > (found.get(key) ?? -1)) found.set(key, next);
  };
  for (const [partition, bounds] of await log.bounds(sinksTopic)) {
    /** Call -> end of its range. */
    const fixed = new Map<string, number>();
    for await (const record of readPartition(log, { topic: sinksTopic, partition }, bounds)) {
      const body = bodyOf(decodeRecord(record));
      if (body?.kind === 'checkpoint') {
        const state = body.state.body;
        if (isObject(state) && typeof state.next === 'number')
          put(`${nameOf(state)}/${String(state.partition)}`, state.next);
      }
      for (const { type, data } of sourcesOf(body ?? {}, 0)) {
        const call = textOf(data.call);
        if (type === 'range.fixed') fixed.set(call, Number(data.to));
        // An outcome is written only after the rows were.
        const to = type === 'range.stored' ? fixed.get(call) : undefined;
        if (to !== undefined) put(call.slice(0, call.lastIndexOf('/')), to);
      }
    }
  }
  return found;
}

const nameOf = ({ topic, made }: Readonly<Record<string, unknown>>): string =>
  storedName(textOf(topic), typeof made === 'number' ? made : undefined);
