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

const kindWidth = 8;
const nameWidth = 24;

/** One line: seconds, kind, name, text. What began before is counted from its own beginning. */
export function printLine(printer: LinePrinter, line: LiveLine): void {
  printer.startedMs = Math.min(printer.startedMs, line.atMs);
  const { colors, columns } = printer;
  const seconds = (line.atMs - printer.startedMs) / 1_000;
  const time = `${seconds.toFixed(2).padStart(7)} s`;
  const name = oneLine(line.name, nameWidth).padEnd(nameWidth);
  const room = columns - time.length - kindWidth - nameWidth - 4;
  const text = oneLine(line.text, Math.max(20, room));
  const paint = { good: colors.green, bad: colors.red, busy: colors.dim, plain: String }[line.mood];
  const kind = colors.cyan(line.kind.padEnd(kindWidth));
  printer.write(`${`${colors.dim(time)}  ${kind}${name}  ${paint(text)}`.trimEnd()}\n`);
}
