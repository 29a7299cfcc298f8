import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { toError } from '../errors.ts';

/**
 * AES-256-GCM: nonce, tag and ciphertext in one piece. `place` is bound to it: what was sealed for one place opens at no
 * other. With random nonces of 96 bits one key is good for billions of messages; a session has thousands.
 */

export const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = 'aes-256-gcm';

/** Seals bytes with a key of 32 bytes. */
export function sealBytes(key: Buffer, place: string, bytes: Buffer | string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce);
  cipher.setAAD(Buffer.from(place, 'utf8'));
  const first = typeof bytes === 'string' ? cipher.update(bytes, 'utf8') : cipher.update(bytes);
  const last = cipher.final();
  return Buffer.concat([nonce, cipher.getAuthTag(), first, last]);
}

/** What was sealed; undefined where it was sealed with another key, for another place, or changed since. */
export function openBytes(key: Buffer, place: string, sealed: Buffer): Buffer | undefined {
  if (sealed.length < nonceBytes + tagBytes) return undefined;
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(place, 'utf8'));
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const first = decipher.update(sealed.subarray(nonceBytes + tagBytes));
  try {
    return Buffer.concat([first, decipher.final()]);
  } catch (thrown) {
    // The tag does not fit: the one thing that `final` says here.
    if (/unable to authenticate/i.test(toError(thrown).message)) return undefined;
    throw thrown;
  }
}
