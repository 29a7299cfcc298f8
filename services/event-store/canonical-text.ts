import { canonical } from '../chassis/protocol/hash.ts';

/**
 * The same text as `canonical` gives, several times as fast, for the many small values of rows: the
 * engine writes it in one go, from a copy whose keys are in order.
 */
export function canonicalText(value: unknown): string {
  try {
    return JSON.stringify(ordered(value)) ?? 'null';
  } catch (thrown) {
    if (thrown === unorderable) return canonical(value);
    throw thrown;
  }
}

const unorderable = Symbol('unorderable');

/**
 * Keys that an object does not keep where they were put: whole numbers come first, in order of
 * size.
 */
const isMoved = (key: string): boolean =>
  key === '__proto__' || (key.charCodeAt(0) < 58 && key.charCodeAt(0) > 47);

function ordered(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(ordered);
  const object = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object).sort()) {
    if (isMoved(key)) throw unorderable;
    copy[key] = ordered(object[key]);
  }
  return copy;
}
