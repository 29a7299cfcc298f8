/**
 * Cuts a stream of bytes into lines of bounded length. Of a line that is too long only its ends are
 * kept, which is where a JSON-RPC message says whose answer it is; the rest is dropped while it
 * comes in.
 */
export type Line =
  | Readonly<{ kind: 'text'; text: string }>
  | Readonly<{ kind: 'oversize'; bytes: number; head: string; tail: string }>;

const newline = 10;
const endBytes = 256;

export class MessageLines {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #head = '';

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Of the line that has not ended yet, kept or not. */
  get pendingBytes(): number {
    return this.#bytes;
  }

  /** The lines that end in this chunk. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = [];
    let rest = chunk;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      this.#keep(rest.subarray(0, end));
      lines.push(this.#take());
      rest = rest.subarray(end + 1);
    }
    this.#keep(rest);
    return lines;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    this.#chunks.push(part);
    if (this.#bytes <= this.#bytesMax) return;
    const kept = Buffer.concat(this.#chunks);
    if (this.#head === '') this.#head = kept.toString('latin1', 0, endBytes);
    // Copied, as a view would hold on to the whole chunk.
    this.#chunks = [Buffer.from(kept.subarray(-endBytes))];
  }

  #take(): Line {
    const kept = Buffer.concat(this.#chunks);
    const line: Line =
      this.#bytes <= this.#bytesMax
        ? { kind: 'text', text: kept.toString('utf8') }
        : {
            kind: 'oversize',
            bytes: this.#bytes,
            head: this.#head,
            tail: kept.toString('latin1'),
          };
    this.#chunks = [];
    this.#bytes = 0;
    this.#head = '';
    return line;
  }
}

/**
 * The id of the request that an oversize line answers, where its ends tell; undefined for anything
 * else.
 */
export function answeredBy(head: string, tail: string): number | undefined {
  const first = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]/.exec(head);
  const last = /[,{]\s*"id"\s*:\s*(\d+)\s*\}\s*$/.exec(tail);
  const id = first?.[1] ?? last?.[1];
  return id === undefined ? undefined : Number(id);
}
