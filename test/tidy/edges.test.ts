import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

const directory = join(packageRoot, 'test/unit/services/chassis/host/edges');
const list = readFileSync(join(directory, 'README.md'), 'utf8');
let number = 0;
/** A row without a number goes on with the edge of the row above. */
const rows = [...list.matchAll(/^\| (.*) \| `([^`]+)`: (.+) \|$/gm)].map(
  ([, edge = '', file = '', title = '']) => {
    number = Number(/^(\d+)\./.exec(edge)?.[1] ?? number);
    return { edge, file, title, number };
  },
);

it('the list of hard edges has all fifteen', () => {
  const numbers = rows.flatMap(({ edge }) => /^(\d+)\./.exec(edge)?.[1] ?? []);
  expect(numbers.map(Number)).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
});

it.each(rows)('$file has the test "$title"', ({ file, title }) => {
  const path = join(directory, file);
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path, 'utf8')).toContain(`'${title}'`);
});

it.each(rows)('$file says that it shows 1b.$number', ({ file, number }) => {
  const text = readFileSync(join(directory, file), 'utf8');
  expect(text).toMatch(new RegExp(`\\b1b\\.${number}\\b`));
});
