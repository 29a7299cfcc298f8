/** Pieces of SVG documents that read the same on light and dark pages, and without colour. */

/** Text as it may stand in a document. */
export const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

export type Tone = 'ok' | 'failed' | 'open' | 'quiet';

const tones: Readonly<Record<Tone, string>> = {
  ok: '#2f7d4f',
  failed: '#b3362b',
  open: '#9a6a00',
  quiet: '#7a7f87',
};

export const colorOf = (tone: Tone): string => tones[tone];

const style = `text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1c1f24}
.s{font-size:11px;fill:#5a6069}.e{fill:none;stroke:#7a7f87;stroke-width:1.5}`;

/** A whole document of this size, in pixels. `title` is what a screen reader says. */
export const svgOf = (
  size: Readonly<{ width: number; height: number; title: string }>,
  parts: readonly string[],
): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}">`,
    `<title>${escaped(size.title)}</title>`,
    `<style>${style}</style>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
