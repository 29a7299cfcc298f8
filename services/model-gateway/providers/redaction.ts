/**
 * Takes keys out of texts that a provider wrote: some repeat the key they refused, whole or in
 * part.
 */

const shown = '[redacted]';
// A refused key is often shown as its first characters, stars, and its last ones.
const headCharacters = 6;
const shortestKeyWithHead = 12;

/** `text` without any of `secrets`, without their beginnings, and at most `charactersMax` long. */
export function redact(text: string, secrets: readonly string[], charactersMax = 500): string {
  let clean = text;
  for (const secret of secrets.filter((each) => each !== '')) {
    clean = clean.replaceAll(secret, shown);
    if (secret.length < shortestKeyWithHead) continue;
    const head = secret.slice(0, headCharacters).replaceAll(/[^a-zA-Z0-9_]/g, '\\$&');
    clean = clean.replaceAll(new RegExp(`${head}[^\\s"',;)]*`, 'g'), shown);
  }
  clean = clean.replaceAll(/\bsk-[a-zA-Z0-9_*-]{4,}/g, shown);
  return clean.length > charactersMax ? `${clean.slice(0, charactersMax)}…` : clean;
}
