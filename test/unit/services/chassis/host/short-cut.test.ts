import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RecordQueue } from '../../../../../services/chassis/host/record-queue.ts';
import { Delivery } from '../../../../../services/chassis/log/kafka/delivery.ts';
import { produceBody } from '../../../../../services/chassis/log/kafka/produce-body.ts';
import { ReadingTable } from '../../../../../services/chassis/log/kafka/reading.ts';
import type { LogRecord } from '../../../../../services/chassis/log/port.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';

/**
 * The queue of a partition between its two sources, the real reader's hand-over and the own writer. A host stood still for
 * ever here: the reader was handing over an answer in parts when two requests of the host were acknowledged, and skipped
 * the second, which the queue had not taken, because records of the first were still to come.
 */

const at = { topic: 'longrein.sessions.normal', partition: 0 };
type Written = Readonly<{ from: number; count: number; own: boolean }>;

const placed = ({ from, count }: Written): PlacedRecord[] =>
  Array.from({ length: count }, (_, index) => ({ offset: from + index })) as PlacedRecord[];

/** A batch as a broker answers it. */
function bytesOf({ from, count }: Written): Buffer {
  const records = Array.from({ length: count }, () => ({ key: 'k', headers: {}, value: null }));
  const body = produceBody([{ partition: at, records }], { acks: -1, timeoutMs: 1, nowMs: 1 });
  const headBytes = 2 + 2 + 4 + 4 + (2 + at.topic.length) + 4 + 4 + 4;
  const batch = Buffer.from(body.subarray(headBytes));
  batch.writeBigInt64BE(BigInt(from), 0);
  return batch;
}

class Bench {
  readonly log: Written[] = [];
  readonly taken: number[] = [];
  readonly halts: string[] = [];
  readonly table = new ReadingTable();
  readonly queue: RecordQueue;
  onHanded: () => void = () => undefined;
  private readonly delivery: Delivery;

  constructor() {
    this.table.assign(at, 0);
    this.queue = new RecordQueue(0, {
      partition: at,
      reading: {
        pause: () => undefined,
        resume: () => undefined,
        skip: (name, from, to) => this.table.skip(name, from, to),
      },
      process: () => undefined,
      onTaken: ({ offset }) => this.taken.push(offset),
      onHalt: ({ message }) => this.halts.push(message),
    });
    this.delivery = new Delivery(this.table, {
      onRecords: (_at, records: readonly LogRecord[]) => {
        this.queue.push(records);
        this.onHanded();
      },
      onPartitionError: (_at, error) => this.halts.push(error.message),
      onInterruption: () => undefined,
    });
  }

  get end(): number {
    const last = this.log.at(-1);
    return last === undefined ? 0 : last.from + last.count;
  }

  append(count: number, own: boolean): Written {
    const written = { from: this.end, count, own };
    this.log.push(written);
    return written;
  }

  acknowledge(written: Written): void {
    if (written.own) this.queue.pushOwn(placed(written));
  }

  /** One answer of the broker, with so many batches at most from where the reader stands. */
  async read(most: number): Promise<void> {
    const [reading] = [this.table.find(at)];
    if (reading === undefined) throw new Error('the partition is not read any more');
    const rest = this.log.filter(({ from, count }) => from + count > reading.position);
    const bytes = Buffer.concat(rest.slice(0, most).map(bytesOf));
    const offsets = { highWatermark: this.end, logStartOffset: 0 };
    await this.delivery.deliver([{ ...at, errorCode: 0, ...offsets, bytes }], [reading]);
  }

  /** Reads until the reader has nothing more to bring. */
  async readAll(most = 3): Promise<void> {
    while ((this.table.find(at)?.position ?? 0) < this.end) await this.read(most);
    await nextTurn();
  }
}

test('requests that are acknowledged while an answer is handed over in parts are taken, and nothing is left out', async () => {
  const bench = new Bench();
  const first = bench.append(250, true);
  bench.onHanded = () => {
    if (bench.log.length > 1) return;
    bench.acknowledge(first);
    bench.acknowledge(bench.append(300, true));
  };
  await bench.readAll();
  expect([bench.queue.position, bench.taken.length, bench.halts]).toEqual([550, 550, []]);
});

const stepArbitrary = fc.record({
  count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 350 })),
  own: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  turnsToAcknowledge: fc.integer({ min: 0, max: 4 }),
});

test('whatever is written, read and acknowledged in which order, each record is taken once', async () => {
  const steps = fc.array(stepArbitrary, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (all, most) => {
      const bench = new Bench();
      const writing = (async () => {
        for (const { count, own, turnsToAcknowledge } of all) {
          const written = bench.append(count, own);
          for (let turn = 0; turn < turnsToAcknowledge; turn++) await nextTurn();
          bench.acknowledge(written);
        }
      })();
      const reading = bench.readAll(most);
      await writing;
      await reading;
      await bench.readAll(most);
      expect(bench.halts).toEqual([]);
      expect(bench.taken).toEqual(Array.from({ length: bench.end }, (_, offset) => offset));
    }),
    { numRuns: 150 },
  );
});
