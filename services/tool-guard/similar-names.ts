/**
 * Names that somebody may have meant. Deterministic: the same names give the same answer in the
 * same order.
 */

/** How many single changes turn one text into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

const words = (name: string): string[] => name.toLowerCase().split(/[^a-z0-9]+/);

function unlikeness(asked: string, name: string): number {
  const [a, b] = [asked.toLowerCase(), name.toLowerCase()];
  const apart = distance(a, b) / Math.max(a.length, b.length, 1);
  const shared = words(a).some((word) => word.length > 2 && words(b).includes(word));
  return shared ? apart / 2 : apart;
}

const unlikenessMax = 0.5;

/** The names most like `asked`, best first; none where nothing is alike. */
export function similarNames(asked: string, names: readonly string[], countMax = 3): string[] {
  return names
    .map((name) => ({ name, apart: unlikeness(asked.slice(0, 128), name) }))
    .filter(({ apart }) => apart <= unlikenessMax)
    .sort((a, b) => a.apart - b.apart || (a.name < b.name ? -1 : 1))
    .slice(0, countMax)
    .map(({ name }) => name);
}

/** Names in quotes, as a sentence takes them; the rest is counted. */
export function listed(names: readonly string[], countMax = 8): string {
  const shown = names.slice(0, countMax).map((name) => `"${name}"`);
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}
