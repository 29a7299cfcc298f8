import { nearest } from '../words/nearest.ts';
import type { Violation } from './problem.ts';

/** What a plan, an agent or a tool may refer to: names only, so that it fits into a fact. */
export type CatalogNames = Readonly<{
  pools: readonly string[];
  agents: readonly string[];
  tools: readonly string[];
  models: readonly string[];
  mcpServers: readonly string[];
}>;

/** Names of `names` that `known` does not have; the path of each is its index. */
export function unknownNames(
  names: readonly string[],
  known: readonly string[],
  noun: string,
): Violation[] {
  return names.flatMap((name, index) => unknownName(name, known, noun).map(under(index)));
}

/** The violation of a name that is not there, at an empty path; none if it is. */
export function unknownName(name: string, known: readonly string[], noun: string): Violation[] {
  if (known.includes(name)) return [];
  const shown = [...new Set(known)].sort().slice(0, 30).join(', ');
  const hint = meant(name, known);
  const fix = shown === '' ? `There is no ${noun} yet: add one.` : `${hint}Use one of: ${shown}.`;
  return [{ path: [], reason: `There is no ${noun} "${name}".`, fix }];
}

/** A guess at what a misspelt name was to be, as a sentence; nothing where none is near. */
export function meant(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? '' : `Did you mean "${near}"? `;
}

/** Ids that stand more than once; the path of each is the index of the repeat. */
export function duplicates(ids: readonly string[], noun: string): Violation[] {
  return ids.flatMap((id, index) => {
    if (ids.indexOf(id) === index) return [];
    const reason = `There is another ${noun} "${id}" above.`;
    return [{ path: [index], reason, fix: `Give each ${noun} an id of its own.` }];
  });
}

/** Puts violations of a part under the part's place in the whole. */
export function under(...prefix: readonly (string | number)[]): (found: Violation) => Violation {
  return (found) => ({ ...found, path: [...prefix, ...found.path] });
}
