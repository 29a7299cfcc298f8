/** Writes Kafka's primitive types into one buffer that grows. Numbers are exact up to 2^53. */

const FIRST_BYTES = 4_096;
const HIGH = 0x1_0000_0000;
/** The most that a number of variable length takes, for 2^53. */
const VARINT_BYTES_MAX = 8;

export class ByteWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  /** What was written, as a view. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  get position(): number {
    return this.#at;
  }

  int8(value: number): void {
    const at = this.#advance(1);
    this.#bytes.writeInt8(value, at);
  }

  int16(value: number): void {
    const at = this.#advance(2);
    this.#bytes.writeInt16BE(value, at);
  }

  int32(value: number): void {
    const at = this.#advance(4);
    this.#bytes.writeInt32BE(value, at);
  }

  int64(value: number): void {
    const at = this.#advance(8);
    this.#bytes.writeInt32BE(Math.floor(value / HIGH), at);
    this.#bytes.writeUInt32BE(value < 0 ? ((value % HIGH) + HIGH) % HIGH : value % HIGH, at + 4);
  }

  /** A zigzag number of variable length. */
  varint(value: number): void {
    this.#reserve(VARINT_BYTES_MAX);
    let raw = value < 0 ? -2 * value - 1 : 2 * value;
    while (raw >= 0x80) {
      this.#bytes[this.#at++] = (raw % 0x80) | 0x80;
      raw = Math.floor(raw / 0x80);
    }
    this.#bytes[this.#at++] = raw;
  }

  /** Text after a length of two bytes. */
  string(text: string): void {
    const bytes = Buffer.byteLength(text, 'utf8');
    this.int16(bytes);
    const at = this.#advance(bytes);
    this.#bytes.write(text, at, 'utf8');
  }

  /** Text after a length of variable size. */
  varString(text: string): void {
    const bytes = Buffer.byteLength(text, 'utf8');
    this.varint(bytes);
    const at = this.#advance(bytes);
    this.#bytes.write(text, at, 'utf8');
  }

  /** Bytes after a length of variable size; null has a negative one. */
  varBytes(bytes: Uint8Array | null): void {
    this.varint(bytes === null ? -1 : bytes.length);
    if (bytes !== null) this.bytes(bytes);
  }

  bytes(bytes: Uint8Array): void {
    const at = this.#advance(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** Writes over what was written before, at this position. */
  int32At(position: number, value: number): void {
    this.#bytes.writeInt32BE(value | 0, position);
  }

  /** What was written from this position on. */
  from(position: number): Buffer {
    return this.#bytes.subarray(position, this.#at);
  }

  /** Begins anew with the same memory. */
  clear(): void {
    this.#at = 0;
  }

  #advance(bytes: number): number {
    this.#reserve(bytes);
    const start = this.#at;
    this.#at += bytes;
    return start;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const more = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + bytes));
    this.#bytes.copy(more, 0, 0, this.#at);
    this.#bytes = more;
  }
}
