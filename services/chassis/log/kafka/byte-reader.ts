/** Reads Kafka's primitive types from bytes, in order. Numbers are exact up to 2^53. */

export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int8(): number {
    return this.#bytes.readInt8(this.#advance(1));
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#advance(4));
  }

  int64(): number {
    const high = this.int32();
    return high * 0x1_0000_0000 + this.#bytes.readUInt32BE(this.#advance(4));
  }

  /** A zigzag number of variable length. */
  varint(): number {
    const raw = this.unsigned();
    return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
  }

  /** A number of variable length that is never negative. */
  unsigned(): number {
    let raw = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes.readUInt8(this.#advance(1));
      raw += (byte & 0x7f) * scale;
      if (byte < 0x80) return raw;
    }
  }

  string(): string {
    return this.slice(this.int16()).toString('utf8');
  }

  /** Bytes after a length of variable size; a negative length is null. */
  varBytes(): Buffer | null {
    const length = this.varint();
    return length < 0 ? null : this.slice(length);
  }

  /** A view of the next bytes. It keeps the whole answer alive: copy what is kept. */
  slice(length: number): Buffer {
    const start = this.#advance(Math.max(length, 0));
    return this.#bytes.subarray(start, this.#at);
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: Math.max(this.int32(), 0) }, read);
  }

  skip(length: number): void {
    this.#advance(length);
  }

  #advance(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new RangeError('the answer ends too early');
    this.#at = start + length;
    return start;
  }
}
