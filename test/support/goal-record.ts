import { goalsTopic } from '../../schemas/topics.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { worldCatalog } from './memory-world.ts';

/** Records of the public goals topic, as other systems write them. */

export const catalog = worldCatalog();
/** A goal of the catalog's simplest plan. */
export const echo = { goal: 'Say it.', plan: 'echo' } as const;

export const goalRecord = (
  value: unknown,
  changes: Partial<Omit<LogRecord, 'value'>> = {},
): LogRecord => ({
  topic: goalsTopic,
  partition: 2,
  offset: 7,
  key: '',
  headers: {},
  timestampMs: 1_700_000_000_000,
  ...changes,
  value:
    value === null || value instanceof Uint8Array
      ? value
      : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
});
