/**
 * As much of Kafka's wire protocol as a proxy needs to see a produce request go by: frames, and of
 * produce requests (version 3 to 8) where each partition's part begins and ends.
 */

const lengthBytes = 4;

/** Cuts a stream into frames, each with its length in front. */
export class FrameCutter {
  private rest: Buffer = Buffer.alloc(0);

  /** The whole frames that this piece completes. */
  push(piece: Buffer): readonly Buffer[] {
    this.rest = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
    const frames: Buffer[] = [];
    while (this.rest.length >= lengthBytes) {
      const end = lengthBytes + this.rest.readInt32BE(0);
      if (this.rest.length < end) break;
      frames.push(this.rest.subarray(0, end));
      this.rest = this.rest.subarray(end);
    }
    return frames;
  }
}

const produceKey = 0;

export const isProduce = (request: Buffer): boolean => request.readInt16BE(4) === produceKey;
export const correlationOfRequest = (request: Buffer): number => request.readInt32BE(8);
export const correlationOfAnswer = (answer: Buffer): number => answer.readInt32BE(4);

type Part = Readonly<{ topic: string; partition: number; from: number; to: number }>;
type TopicPart = Readonly<{ name: string; countAt: number; from: number; parts: readonly Part[] }>;

/** Walks over a produce request. */
class ProduceWalk {
  private readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    const clientBytes = bytes.readInt16BE(12);
    this.at = 14 + Math.max(0, clientBytes);
    const transactionBytes = this.number(2);
    this.at += Math.max(0, transactionBytes) + 2 + 4;
  }

  number(width: 2 | 4): number {
    const value = width === 2 ? this.bytes.readInt16BE(this.at) : this.bytes.readInt32BE(this.at);
    this.at += width;
    return value;
  }

  private text(): string {
    const bytes = this.number(2);
    this.at += bytes;
    return this.bytes.toString('utf8', this.at - bytes, this.at);
  }

  private part(topic: string): Part {
    const from = this.at;
    const partition = this.number(4);
    const recordBytes = this.number(4);
    this.at += Math.max(0, recordBytes);
    return { topic, partition, from, to: this.at };
  }

  topic(): TopicPart {
    const from = this.at;
    const name = this.text();
    const countAt = this.at;
    const parts = Array.from({ length: this.number(4) }, () => this.part(name));
    return { name, countAt, from, parts };
  }
}

function topicsOf(request: Buffer): { countAt: number; topics: readonly TopicPart[] } {
  const walk = new ProduceWalk(request);
  const countAt = walk.at;
  const topics = Array.from({ length: walk.number(4) }, () => walk.topic());
  return { countAt, topics };
}

/** The partitions that a produce request writes to, `topic/partition`. */
export function partitionsOfProduce(request: Buffer): readonly string[] {
  return topicsOf(request).topics.flatMap(({ parts }) =>
    parts.map(({ topic, partition }) => `${topic}/${partition}`),
  );
}

const counted = (request: Buffer, at: number, less: number): Buffer => {
  const count = Buffer.alloc(4);
  count.writeInt32BE(request.readInt32BE(at) - less);
  return count;
};

/** The request without its last partition. Undefined where it has only one. */
export function withoutLastPartition(request: Buffer): Buffer | undefined {
  const { countAt, topics } = topicsOf(request);
  const last = topics.at(-1);
  const part = last?.parts.at(-1);
  if (last === undefined || part === undefined) return undefined;
  const alone = last.parts.length === 1;
  if (alone && topics.length === 1) return undefined;
  const [numberAt, cutFrom] = alone ? [countAt, last.from] : [last.countAt, part.from];
  const left = [
    request.subarray(lengthBytes, numberAt),
    counted(request, numberAt, 1),
    request.subarray(numberAt + 4, cutFrom),
    request.subarray(part.to),
  ];
  return framed(Buffer.concat(left));
}

/** What a broker would say that had been sent no partition: an answer in which all are missing. */
export function emptyProduceAnswer(request: Buffer): Buffer {
  const body = Buffer.alloc(12);
  body.writeInt32BE(correlationOfRequest(request), 0);
  return framed(body);
}

function framed(body: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}
