/** How parts of a text are marked. The text itself says everything without: colour is the terminal's. */
export type Palette = Readonly<{
  heading(text: string): string;
  error(text: string): string;
  /** What a reader may pass over. */
  quiet(text: string): string;
}>;

const asItIs = (text: string): string => text;

export const plainPalette: Palette = { heading: asItIs, error: asItIs, quiet: asItIs };
