import type { JsonValue } from '../../schemas/json.ts';

/** Numbers and bodies as people read them. */

const nanoPerUsd = 1_000_000_000;

/** Exact: whole nano-USD as dollars, at least two decimals. */
export function usd(nanoUsd: number): string {
  const whole = Math.floor(nanoUsd / nanoPerUsd);
  const rest = String(nanoUsd % nanoPerUsd).padStart(9, '0');
  return `$${whole}.${rest.replace(/0{1,7}$/, '')}`;
}

/** `1.240 s`; below ten seconds with milliseconds. */
export function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1_000).toFixed(3)} s` : `${(ms / 1_000).toFixed(1)} s`;
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;

export const time = (ms: number): string => new Date(ms).toISOString();

/** `call_0123abcd…` in the length that people compare by eye. */
export const shortId = (id: string): string => {
  const at = id.indexOf('_');
  return at < 0 || id.length - at <= 9 ? id : id.slice(0, at + 9);
};

/** Other control characters than line feed and tab could steer a terminal. */
const steering = /[^\P{Cc}\t\n]/gu;

/** Text as it may stand in a terminal. */
export const harmless = (text: string): string => text.replace(steering, '\uFFFD');

/** A body in one line of at most so many characters. */
export function preview(body: JsonValue, charactersMax: number): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const line = harmless(text.slice(0, charactersMax * 4))
    .replaceAll(/\s+/g, ' ')
    .trim();
  const isCut = line.length > charactersMax || text.length > charactersMax * 4;
  return isCut ? `${line.slice(0, charactersMax - 1)}…` : line;
}

/** A body in full, as lines. */
export function fullText(body: JsonValue): readonly string[] {
  const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  return harmless(text).split('\n');
}
