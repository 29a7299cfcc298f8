/** Lines that fit a terminal. */

/** A line cut at this width. */
export function cutTo(line: string, columns: number): string {
  const letters = [...line];
  return letters.length <= columns ? line : `${letters.slice(0, columns - 1).join('')}…`;
}

/** A line broken at blanks; what follows the first is indented. A word that is too long is broken where it must. */
export function wrapTo(line: string, columns: number, indent: number): readonly string[] {
  const lines: string[] = [];
  const margin = ' '.repeat(indent);
  let rest = line;
  while ([...rest].length > columns) {
    const fitting = [...rest].slice(0, columns + 1).join('');
    const blank = fitting.lastIndexOf(' ');
    const at = blank > indent + 16 ? blank : fitting.length - 1;
    lines.push(rest.slice(0, at).trimEnd());
    rest = margin + rest.slice(at).trimStart();
  }
  return [...lines, rest];
}
