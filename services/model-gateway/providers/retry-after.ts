/** How long a provider asks to wait: "retry-after-ms", or "retry-after" in seconds or as a date. */

const waitMsMax = 3_600_000;

/**
 * The wait in ms, at most an hour, or undefined if the provider names none. `nowMs` is Unix time.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  nowMs: number,
): number | undefined {
  const inMs = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (Number.isFinite(inMs)) return bounded(inMs);
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return bounded(seconds * 1000);
  const atMs = Date.parse(text);
  return Number.isFinite(atMs) ? bounded(atMs - nowMs) : undefined;
}

function bounded(waitMs: number): number {
  return Math.ceil(Math.min(Math.max(0, waitMs), waitMsMax));
}
