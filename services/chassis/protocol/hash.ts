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

function isSameList(one: readonly unknown[], other: unknown): boolean {
  if (!Array.isArray(other) || other.length !== one.length) return false;
  for (let i = 0; i < one.length; i++) if (!isSameJson(one[i], other[i])) return false;
  return true;
}

type Named = Readonly<Record<string, unknown>>;

/** Members that are undefined are none: whoever asks has few of them, and such objects are compared by their texts. */
function isSameObject(one: Named, other: Named): boolean {
  const names = Object.keys(one);
  const others = Object.keys(other);
  if (names.length !== others.length) return false;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    // Members mostly come in the same order; what is inherited is none.
    if (name !== others[i] && !Object.hasOwn(other, name)) return false;
    if (!isSameJson(one[name], other[name])) return false;
  }
  return true;
}

/**
 * Whether two JSON values have the same canonical text, found without making it. False says nothing: members that are
 * undefined and numbers that JSON does not know are left to the texts.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  if (one === null || other === null) return false;
  if (Array.isArray(one)) return isSameList(one, other);
  return !Array.isArray(other) && isSameObject(one as Named, other as Named);
}

/** Hash of a JSON value by its canonical text. */
export const hashOf = (value: JsonValue | object): string => sha256(canonical(value));

/** The same with other text in the place of some objects. */
export const hashWith = (value: object, instead: Instead): string => sha256(write(value, instead));
