/** Times as people write them for `--since` and `--until`. Pure. */
import { UsageError } from './exit-code.ts';

const units: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `7d`, `24h`, `2026-03-01` or `2026-03-01T10:00:00Z` in milliseconds since 1970. Throws UsageError. */
export function parseMoment(text: string, nowMs: number): number {
  const ago = /^(\d+)([mhdw])$/.exec(text);
  if (ago !== null) return nowMs - Number(ago[1]) * (units[ago[2] ?? ''] ?? 0);
  if (text === 'now') return nowMs;
  const moment = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(moment)) {
    throw new UsageError(
      `"${text}" is no time`,
      'Write 30m, 24h, 7d, 4w (ago), a day such as 2026-03-01, or a full time.',
    );
  }
  return moment;
}

/** As ClickHouse reads it in a parameter of type DateTime: seconds since 1970. */
export const clickhouseSeconds = (ms: number): string =>
  String(Math.max(0, Math.floor(ms / 1_000)));
