import { createHmac } from 'node:crypto';

/**
 * Other names for everything that names: the same for the same, never one for two. Which they are follows from a key
 * that is not kept, and, for short words, from the order in which they came.
 */

/** Also at the end of a longer id: `goal_ses_…`. */
const idToken = /(?<![a-zA-Z0-9])([a-z]+)_([0-9a-f]{32})(?![0-9a-f])/;
const digestToken = /(?<![a-zA-Z0-9])([0-9a-f]{64})(?![0-9a-f])/;
const tokens = new RegExp(
  `${idToken.source}|${digestToken.source}|([\\p{L}\\p{M}]+)|(\\p{N}{3,})`,
  'gu',
);
const idTokens = new RegExp(idToken.source, 'g');
/** What stands before the id of another log that is about this one. */
const outerPrefix: ReadonlySet<string> = new Set(['goal']);

const vowels = 'aeiou';
const consonants = 'bdfgklmnprstvz';

export class Pseudonyms {
  private readonly key: string;
  private readonly words = new Map<string, string>();
  private readonly taken = new Set<string>();
  protected readonly records = new Map<string, string>();

  constructor(key: string) {
    this.key = key;
  }

  /** Says which id a record has from now on. */
  rename(record: string, to: string): void {
    this.records.set(record, to);
  }

  /** Hex text of this length in the place of another. */
  hex(text: string, length: number): string {
    return this.digest(`hex ${text}`).toString('hex').repeat(2).slice(0, length);
  }

  /** An id, alone or as a part of a longer one (`goal_ses_…`, `trn_…#0`). */
  id(text: string): string {
    return text.replaceAll(idTokens, (whole, prefix: string) => this.tokenOf(whole, prefix));
  }

  /** Ids, words and long numbers of a text replaced; what stands between them stays. */
  text(text: string, kept: ReadonlySet<string> = new Set()): string {
    const hasOuter = idTokens.test(text);
    idTokens.lastIndex = 0;
    return text.replaceAll(tokens, (whole, ...found: (string | undefined)[]) => {
      const [prefix, , digest, word] = found;
      if (prefix !== undefined) return this.tokenOf(whole, prefix);
      if (digest !== undefined) return this.hex(digest, 64);
      if (word === undefined) return this.number(whole);
      return kept.has(word) || (hasOuter && outerPrefix.has(word)) ? word : this.word(word);
    });
  }

  /** The text under this name of a member. */
  inMember(text: string, _member: string): string {
    return this.text(text);
  }

  protected tokenOf(whole: string, prefix: string): string {
    return this.records.get(whole) ?? `${prefix}_${this.hex(whole, 32)}`;
  }

  private number(digits: string): string {
    const bytes = this.digest(`number ${digits}`);
    return [...digits].map((_, at) => String((bytes[at % bytes.length] ?? 0) % 10)).join('');
  }

  private word(word: string): string {
    const small = word.toLowerCase();
    const known = this.words.get(small) ?? this.invent(small);
    this.words.set(small, known);
    if (word === small) return known;
    return word === word.toUpperCase() && word.length > 1
      ? known.toUpperCase()
      : known[0]?.toUpperCase() + known.slice(1);
  }

  /** A word that can be said, as long as the other one; longer where all short ones are taken. */
  private invent(word: string): string {
    for (let tries = 0; ; tries++) {
      const bytes = this.digest(`word ${tries} ${word}`);
      const length = [...word].length + Math.floor(tries / 8);
      let made = '';
      for (let at = 0; at < length; at++) {
        const letters = at % 2 === 0 ? consonants : vowels;
        made += letters[(bytes[at % bytes.length] ?? 0) % letters.length];
      }
      if (this.taken.has(made)) continue;
      this.taken.add(made);
      return made;
    }
  }

  private digest(text: string): Buffer {
    return createHmac('sha256', this.key).update(text, 'utf8').digest();
  }
}
