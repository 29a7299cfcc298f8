/** The name that a misspelt word was meant to be. Pure. */

/** The known name nearest to this one, or undefined if none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, edits: editsBetween(word, name) }))
    .sort((one, other) => one.edits - other.edits);
  const [best] = ranked;
  if (best === undefined || best.edits > Math.max(1, Math.floor(word.length / 3))) return undefined;
  return best.name;
}

/** How many letters have to be added, removed, changed or swapped with the next. */
function editsBetween(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (const [column, otherLetter] of [...other].entries()) {
      const changed = (row[column] ?? 0) + (letter === otherLetter ? 0 : 1);
      const swapped = letter === other[column - 1] && otherLetter === one[index - 1];
      const swap = swapped ? (before[column - 1] ?? 0) + 1 : changed;
      next.push(Math.min(changed, swap, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row.at(-1) ?? 0;
}
