/**
 * Collects named things while a catalog is read: the first of a name counts, a second is a problem.
 * A name whose file is broken is known all the same, so that what refers to it is not reported too.
 */

import type { CatalogProblem } from './problem.ts';
import type { YamlSource } from './yaml-source.ts';

/** A definition, the file it came from, and where in that file it stands. */
export type Entry<T> = Readonly<{
  name: string;
  value: T;
  source: YamlSource;
  path: readonly (string | number)[];
}>;

export type Registry<T> = Readonly<{
  add(entry: Entry<T>): void;
  /** Makes a name known whose definition could not be read. */
  declare(name: string, file: string): void;
  entries(): readonly Entry<T>[];
  values(): Record<string, T>;
  /** Every name that can be referred to. */
  names(): string[];
  fileOf(name: string): string | undefined;
}>;

/** `noun` is what problems call one of them. */
export function createRegistry<T>(noun: string, problems: CatalogProblem[]): Registry<T> {
  const found = new Map<string, Entry<T>>();
  const files = new Map<string, string>();
  return {
    add(entry) {
      const first = found.get(entry.name);
      if (first === undefined) {
        found.set(entry.name, entry);
        files.set(entry.name, entry.source.file);
      } else {
        problems.push(repeated(noun, entry, first.source.file));
      }
    },
    declare(name, file) {
      if (!files.has(name)) files.set(name, file);
    },
    entries: () => [...found.values()],
    values: () => Object.fromEntries([...found].map(([name, { value }]) => [name, value])),
    names: () => [...files.keys()].sort(),
    fileOf: (name) => files.get(name),
  };
}

function repeated<T>(noun: string, entry: Entry<T>, otherFile: string): CatalogProblem {
  const reason = `There is another ${noun} "${entry.name}" in ${otherFile}.`;
  const fix = `Give each ${noun} a name of its own.`;
  return entry.source.problemAt({ path: [...entry.path, 'name'], reason, fix });
}
