import { isObject } from './decoded-record.ts';

/** Text, or nothing where it is none. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A whole number within the bounds of its column, whatever stands there. */
export function wholeOf(value: unknown, max: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !(value > 0)) return 0;
  return Math.min(Math.floor(value), max);
}

/** Text by name, as labels are. */
export function labelsOf(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  const pairs = Object.entries(value).filter((one) => typeof one[1] === 'string');
  return Object.fromEntries(pairs) as Record<string, string>;
}
