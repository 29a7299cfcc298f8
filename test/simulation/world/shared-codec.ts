import { type Codec, createFixedCodec, type Decoded } from '../../../services/chassis/log/codec.ts';

/** One seed in so many runs with records that nobody can change: over many seeds that is all code on all paths. */
const frozenEvery = 8;

function freeze(value: unknown): void {
  if (value === null || typeof value !== 'object') return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}

/**
 * The codec of one world. All its hosts read the same bytes, so each is decoded once and shared: that is most of the
 * work saved. It is right as long as nobody changes what was read, and in some seeds whoever does so fails.
 */
export function createSharedCodec(seed: number): Codec {
  const codec = createFixedCodec();
  const known = new WeakMap<Uint8Array, Decoded>();
  const isFrozen = seed % frozenEvery === 0;
  return {
    encode: codec.encode,
    decode(value) {
      const before = known.get(value);
      if (before !== undefined) return before;
      const decoded = codec.decode(value);
      if (isFrozen) freeze(decoded.body);
      known.set(value, decoded);
      return decoded;
    },
  };
}
