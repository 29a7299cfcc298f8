/** What is wrong with the files of a catalog, said so that a person can correct it at once. */

/** `line` and `column` count from 1. */
export type CatalogProblem = Readonly<{
  file: string;
  line: number;
  column: number;
  reason: string;
  fix: string;
}>;

/** The same, before it is known where in a file the member stands. */
export type Violation = Readonly<{
  path: readonly (string | number)[];
  reason: string;
  fix: string;
}>;

/** Problems as text, one a line, in the form that editors turn into links. */
export function formatProblems(problems: readonly CatalogProblem[]): string {
  return problems
    .map(({ file, line, column, reason, fix }) => `${file}:${line}:${column} ${reason} ${fix}`)
    .join('\n');
}

/** By file, then by place: the order in which a person corrects them. */
export function compareProblems(left: CatalogProblem, right: CatalogProblem): number {
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return left.line - right.line || left.column - right.column;
}
