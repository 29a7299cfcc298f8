/** Cells in aligned columns. */

export type ColumnSpec = Readonly<{ title: string; right?: boolean }>;

/** Lines of equal columns; the first is the titles. Numbers stand to the right. */
export function columnLines(
  specs: readonly ColumnSpec[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const all = [specs.map(({ title }) => title), ...rows];
  const widths = specs.map((_, at) => Math.max(...all.map((row) => [...(row[at] ?? '')].length)));
  return all.map((row) =>
    specs
      .map(({ right }, at) => {
        const cell = row[at] ?? '';
        const blanks = ' '.repeat((widths[at] ?? 0) - [...cell].length);
        return right ? blanks + cell : cell + blanks;
      })
      .join('  ')
      .trimEnd(),
  );
}
