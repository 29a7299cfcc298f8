/** The marks of replay-tools in the colours of a terminal. */
import type { Palette } from '../../../replay-tools/show/palette.ts';
import type { Colors } from './terminal.ts';

export const paletteOf = (colors: Colors): Palette => ({
  heading: colors.bold,
  error: colors.red,
  quiet: colors.dim,
});
