/**
 * How much of what is read is the reader's own writing. Each append wakes the long poll of its own writer, so a busy host
 * would pay one fetch for each append and learn nothing from it. While nearly all comes back as an echo, the next fetch
 * waits a moment; what others write is then late by no more than that.
 */

const REST_MS = 5;
const SHARE_LEAST = 0.9;
const RECORDS_LEAST = 20;
/** What is remembered of the past at each answer. */
const MEMORY = 0.9;

export class Echo {
  #read = 0;
  #own = 0;

  /** The owner has so many records in hand already: it wrote them. */
  wrote(records: number): void {
    this.#own += records;
  }

  /** An answer brought so many records, known ones included. */
  answered(records: number): void {
    this.#read = this.#read * MEMORY + records;
    this.#own *= MEMORY;
  }

  /** How long the next fetch should wait after an answer, in milliseconds; 0 where others write too. */
  get restMs(): number {
    if (this.#read < RECORDS_LEAST) return 0;
    return this.#own >= this.#read * SHARE_LEAST ? REST_MS : 0;
  }
}
