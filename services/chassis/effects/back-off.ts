import { sha256 } from '../protocol/hash.ts';

const firstMs = 500;
const longestMs = 30_000;

/**
 * How long to wait before a model is asked again, in milliseconds: doubled with each try, between
 * half and all of it by the hash of what failed, so that agents that failed together do not come
 * back together. Never shorter than what the provider asked for.
 */
export function backOffMs(tries: number, address: string, retryAfterMs: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.max(0, tries - 1));
  const share = Number.parseInt(sha256(address).slice(0, 8), 16) / 0x1_0000_0000;
  return Math.max(Math.ceil(retryAfterMs), Math.round(full * (0.5 + share / 2)));
}
