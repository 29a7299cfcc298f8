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

/** Names of an object's members: as it has them, in order, and as the text before each value. */
type Shape = Readonly<{
  names: readonly string[];
  sorted: readonly string[];
  heads: readonly string[];
}>;

/**
 * By the first name. Objects with the same names come in rows: to sort those again, and to quote them, takes longer than
 * to see that they are the same. What has other names each time is forgotten with all the rest, now and then.
 */
const shapes = new Map<string, Shape[]>();
const shapesMax = 1_000;
const shapesOfFirstMax = 8;
const namesMax = 40;
const charactersMax = 1_000;
let shapesKnown = 0;

function isSameNames(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

function newShape(names: readonly string[], alike: Shape[] | undefined): Shape {
  const sorted = names.toSorted();
  const heads = sorted.map((name) => `${quoted(name)}:`);
  const shape = { names, sorted, heads };
  const characters = names.reduce((sum, name) => sum + name.length, 0);
  if (names.length > namesMax || characters > charactersMax) return shape;
  if (shapesKnown >= shapesMax) shapes.clear();
  shapesKnown = shapes.size === 0 ? 1 : shapesKnown + 1;
  const first = names[0] as string;
  if (alike === undefined || !shapes.has(first)) shapes.set(first, [shape]);
  else if (alike.push(shape) > shapesOfFirstMax) alike.shift();
  return shape;
}

function shapeOf(names: readonly string[]): Shape {
  const alike = shapes.get(names[0] as string);
  if (alike !== undefined) for (const one of alike) if (isSameNames(one.names, names)) return one;
  return newShape(names, alike);
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
  const names = Object.keys(object);
  if (names.length === 0) return '{}';
  const { sorted, heads } = shapeOf(names);
  let text = '{';
  for (let i = 0; i < sorted.length; i++) {
    const member = object[sorted[i] as string];
    if (member === undefined) continue;
    if (text.length > 1) text += ',';
    text += (heads[i] as string) + write(member, instead);
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
