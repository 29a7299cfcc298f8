/** Markdown as plain text for a terminal: headings, aligned tables, no marks. Pure. */
import { table } from './table.ts';

export interface MarkdownStyle {
  readonly heading: (text: string) => string;
  readonly widthMax: number;
}

/** What reports are written in: headings, paragraphs, lists and tables. */
export function plainMarkdown(text: string, style: MarkdownStyle): string {
  const lines = text.split('\n');
  const shown: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const rows = tableAt(lines, at);
    if (rows === undefined) {
      shown.push(plainLine(lines[at] ?? '', style));
      continue;
    }
    shown.push(...tableLines(rows, style));
    at += rows.length;
  }
  return `${shown.join('\n').trimEnd()}\n`;
}

function plainLine(line: string, style: MarkdownStyle): string {
  const heading = /^#{1,6} (.*)$/.exec(line)?.[1];
  if (heading !== undefined) return style.heading(unmarked(heading));
  return wrapped(unmarked(line), style.widthMax);
}

/** Without emphasis and code marks. Underscores stay: names have them. */
const unmarked = (text: string): string =>
  text.replaceAll(/\*\*(.+?)\*\*/g, '$1').replaceAll(/`([^`]+)`/g, '$1');

function wrapped(text: string, widthMax: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > widthMax) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join('\n');
}

const rule = /^\|(\s*:?-+:?\s*\|)+\s*$/;

/** The rows of a table that begins here, without its rule; undefined if none does. */
function tableAt(lines: readonly string[], at: number): string[][] | undefined {
  if (!(lines[at] ?? '').startsWith('|') || !rule.test(lines[at + 1] ?? '')) return undefined;
  const rest = lines.slice(at + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  const body = end === -1 ? rest : rest.slice(0, end);
  return [lines[at] ?? '', ...body].map(cellsOf);
}

const cellsOf = (line: string): string[] =>
  line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => unmarked(cell.trim().replaceAll('\\|', '|')));

function tableLines(rows: readonly string[][], style: MarkdownStyle): string[] {
  const [titles = [], ...body] = rows;
  const columns = titles.map((title, index) => {
    const cells = body.map((row) => row[index] ?? '');
    const right = cells.length > 0 && cells.every((cell) => /^\d[\d.,]*$/.test(cell));
    return { title, ...(right ? { right } : {}) };
  });
  const text = table({ columns, rows: body, widthMax: style.widthMax - 2 });
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`);
}
