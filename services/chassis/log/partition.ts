/**
 * Which partition a key belongs to. Pure, and equal to what Kafka's Java client computes, so that
 * records written by other systems with the same key land beside ours.
 */

const SEED = 0x9747b28c;
const MIX = 0x5bd1e995;
const encoder = new TextEncoder();

/** The 32-bit murmur2 hash of these bytes, as a signed integer. */
export function murmur2(bytes: Uint8Array): number {
  const wholeWords = bytes.length >>> 2;
  let hash = SEED ^ bytes.length;
  for (let word = 0; word < wholeWords; word++) {
    hash = Math.imul(hash, MIX) ^ mixedWord(bytes, word * 4);
  }
  hash = mixTail(hash, bytes, wholeWords * 4);
  hash = Math.imul(hash ^ (hash >>> 13), MIX);
  return hash ^ (hash >>> 15);
}

/**
 * The partition of this key among `partitions` (a positive integer that never changes for a topic).
 */
export function partitionOf(key: string, partitions: number): number {
  return (murmur2(encoder.encode(key)) & 0x7fffffff) % partitions;
}

function mixedWord(bytes: Uint8Array, at: number): number {
  const word =
    byteAt(bytes, at) |
    (byteAt(bytes, at + 1) << 8) |
    (byteAt(bytes, at + 2) << 16) |
    (byteAt(bytes, at + 3) << 24);
  const mixed = Math.imul(word, MIX);
  return Math.imul(mixed ^ (mixed >>> 24), MIX);
}

function mixTail(hash: number, bytes: Uint8Array, from: number): number {
  if (from === bytes.length) return hash;
  let tail = 0;
  for (let at = bytes.length - 1; at >= from; at--) tail = (tail << 8) | byteAt(bytes, at);
  return Math.imul(hash ^ tail, MIX);
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}
