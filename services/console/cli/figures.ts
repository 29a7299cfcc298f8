/** How numbers, times and ids are written for people. Pure. */

/** `850 ms`, `3.2 s`, `2 min 05 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const rest = String(seconds % 60).padStart(2, '0');
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${rest} s`;
  const minutes = String(Math.floor(seconds / 60) % 60).padStart(2, '0');
  return `${Math.floor(seconds / 3_600)} h ${minutes} min`;
}

/** `12.3 MB` in units of 1000. */
export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1_000).toFixed(1)} kB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}

/** Nano-USD as dollars, without digits that say nothing: `$0`, `$0.0012`. */
export function dollars(nanoUsd: number): string {
  if (nanoUsd === 0) return '$0';
  const digits = nanoUsd >= 1e9 ? 2 : nanoUsd >= 1e6 ? 4 : 9;
  const text = (nanoUsd / 1e9).toFixed(digits);
  return `$${digits === 2 ? text : text.replace(/0+$/, '')}`;
}

const shownDigits = 12;

/** The start of a derived id (`ses_` and 32 digits); commands take it in place of the whole. */
export function shortId(id: string): string {
  const found = /^([a-z]+_)([0-9a-f]{32})$/.exec(id);
  return found === null ? id : `${found[1]}${found[2]?.slice(0, shownDigits)}`;
}

/** `1 task`, `2 tasks`. */
export function count(number: number, noun: string, nouns = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : nouns}`;
}

/** A text on one line, at most `widthMax` characters wide. */
export function oneLine(text: string, widthMax: number): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  const letters = [...flat];
  if (letters.length <= widthMax) return flat;
  return `${letters.slice(0, Math.max(0, widthMax - 1)).join('')}…`;
}

/** A line cut at this width, blanks and all. */
export function cut(line: string, widthMax: number): string {
  const letters = [...line];
  return letters.length <= widthMax ? line : `${letters.slice(0, widthMax - 1).join('')}…`;
}
