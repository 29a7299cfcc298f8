import { canonical } from '../../services/chassis/protocol/hash.ts';

/** Where two JSON values differ, small enough to be read by a person. */

/** Values as JSON text, shortened; absent where there is none. */
export type Change = Readonly<{ pointer: string; expected?: string; actual?: string }>;

const changesMax = 8;
const charactersMax = 160;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

function cut(text: string, from: number): string {
  const start = Math.max(0, Math.min(from - 40, text.length - charactersMax));
  const part = text.slice(start, start + charactersMax);
  return `${start > 0 ? '…' : ''}${part}${start + charactersMax < text.length ? '…' : ''}`;
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

function leaf(pointer: string, expected: unknown, actual: unknown): Change {
  const [one, other] = [expected, actual].map((value) =>
    value === undefined ? undefined : canonical(value),
  );
  const at = firstDifference(one ?? '', other ?? '');
  return {
    pointer,
    ...(one === undefined ? {} : { expected: cut(one, at) }),
    ...(other === undefined ? {} : { actual: cut(other, at) }),
  };
}

function collect(pointer: string, pair: readonly [unknown, unknown], found: Change[]): void {
  const [expected, actual] = pair;
  if (found.length >= changesMax || expected === actual) return;
  if (isObject(expected) && isObject(actual)) {
    const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    for (const name of [...names].sort())
      collect(`${pointer}/${escaped(name)}`, [expected[name], actual[name]], found);
  } else if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let i = 0; i < Math.max(expected.length, actual.length); i++)
      collect(`${pointer}/${i}`, [expected[i], actual[i]], found);
  } else found.push(leaf(pointer, expected, actual));
}

/** The first places in which two values differ, by JSON pointer; at most eight. */
export function changesOf(expected: unknown, actual: unknown): readonly Change[] {
  const found: Change[] = [];
  collect('', [expected, actual], found);
  return found;
}
