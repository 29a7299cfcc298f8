/** Prints live lines with the time since the goal was published. */
import { oneLine } from './figures.ts';
import type { LiveLine } from './live-view.ts';
import type { Colors } from './terminal.ts';

export interface LinePrinter {
  readonly write: (text: string) => void;
  readonly colors: Colors;
  readonly columns: number;
  /** The time that lines count from. */
  startedMs: number;
}

const timeWidth = 9;
const kindWidth = 8;
const nameWidth = 24;

/** So many characters of a line are its text. */
export const textRoom = ({ columns }: LinePrinter): number =>
  Math.max(20, columns - timeWidth - kindWidth - nameWidth - 4);

/** One line: seconds, kind, name, text. What began before is counted from its own beginning. */
export function printLine(printer: LinePrinter, line: LiveLine): void {
  printer.startedMs = Math.min(printer.startedMs, line.atMs);
  const { colors } = printer;
  const seconds = (line.atMs - printer.startedMs) / 1_000;
  const time = `${seconds.toFixed(2).padStart(7)} s`;
  const name = oneLine(line.name, nameWidth).padEnd(nameWidth);
  const text = oneLine(line.text, textRoom(printer));
  const paint = { good: colors.green, bad: colors.red, busy: colors.dim, plain: String }[line.mood];
  const kind = colors.cyan(line.kind.padEnd(kindWidth));
  printer.write(`${`${colors.dim(time)}  ${kind}${name}  ${paint(text)}`.trimEnd()}\n`);
}
