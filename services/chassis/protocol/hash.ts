import { createHash } from 'node:crypto';
import type { JsonValue } from '../../../schemas/json.ts';

/** SHA-256 of text (UTF-8), in lower-case hex. */
export const sha256 = (text: string): string =>
  createHash('sha256').update(text, 'utf8').digest('hex');

/**
 * One text for one JSON value: keys sorted by UTF-16 code units, no white space, members that are undefined left out
 * (the form of RFC 8785 for values that JSON can hold).
 */
export function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    let list = '[';
    for (let i = 0; i < value.length; i++) list += (i === 0 ? '' : ',') + canonical(value[i]);
    return `${list}]`;
  }
  const object = value as Record<string, unknown>;
  let text = '{';
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member === undefined) continue;
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${canonical(member)}`;
  }
  return `${text}}`;
}

/** Hash of a JSON value by its canonical text. */
export const hashOf = (value: JsonValue | object): string => sha256(canonical(value));
