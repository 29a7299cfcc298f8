/** The marks of replay-tools in the colours of a terminal. */
import type { Palette } from '../../../replay-tools/show/palette.ts';
import { cut } from './figures.ts';
import type { Colors, Terminal } from './terminal.ts';

export const paletteOf = (colors: Colors): Palette => ({
  heading: colors.bold,
  error: colors.red,
  quiet: colors.dim,
});

/** The same, cutting lines at the width of the terminal; `cutPlain` cuts the others. */
export const cuttingPalette = ({ colors, columns }: Terminal): Palette => ({
  heading: colors.bold,
  error: (text) => colors.red(cut(text, columns)),
  quiet: (text) => colors.dim(cut(text, columns)),
});

const escapeSign = String.fromCharCode(27);

/** Cuts a line that no palette has touched. */
export const cutPlain = (line: string, columns: number): string =>
  line.includes(escapeSign) ? line : cut(line, columns);
