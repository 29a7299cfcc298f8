import { hash } from 'node:crypto';
import type { JsonValue } from '../../../schemas/json.ts';

/** SHA-256 of text (UTF-8), in lower-case hex. */
export const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** What JSON writes between quotes as it is: no quote, backslash, control character or half of a pair. */
const isPlain = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;
/** For long text the built-in is faster than to look at it first. */
const lookedAtMax = 128;

/** Text as JSON writes it. */
export const quoted = (text: string): string =>
  text.length <= lookedAtMax && isPlain.test(text) ? `"${text}"` : JSON.stringify(text);

function primitive(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  // The same text as JSON writes it.
  if (typeof value === 'number' && Number.isSafeInteger(value) && !Object.is(value, -0))
    return String(value);
  return JSON.stringify(value) ?? 'null';
}

/** Most objects have their keys in order already. */
function sortedKeys(object: object): readonly string[] {
  const keys = Object.keys(object);
  for (let i = 1; i < keys.length; i++)
    if ((keys[i] as string) < (keys[i - 1] as string)) return keys.sort();
  return keys;
}

/** Says what stands in the text instead of an object; undefined: the object itself. */
export type Instead = (object: Readonly<Record<string, unknown>>) => string | undefined;

function write(value: unknown, instead: Instead | undefined): string {
  if (value === null || typeof value !== 'object') return primitive(value);
  if (Array.isArray(value)) {
    let list = '[';
    for (let i = 0; i < value.length; i++) list += (i === 0 ? '' : ',') + write(value[i], instead);
    return `${list}]`;
  }
  const object = value as Record<string, unknown>;
  const other = instead?.(object);
  if (other !== undefined) return other;
  let text = '{';
  for (const key of sortedKeys(object)) {
    const member = object[key];
    if (member === undefined) continue;
    text += `${text.length === 1 ? '' : ','}${quoted(key)}:${write(member, instead)}`;
  }
  return `${text}}`;
}

/**
 * One text for one JSON value: keys sorted by UTF-16 code units, no white space, members that are undefined left out
 * (the form of RFC 8785 for values that JSON can hold).
 */
export const canonical = (value: unknown): string => write(value, undefined);

/** Hash of a JSON value by its canonical text. */
export const hashOf = (value: JsonValue | object): string => sha256(canonical(value));

/** The same with other text in the place of some objects. */
export const hashWith = (value: object, instead: Instead): string => sha256(write(value, instead));
