import { Partition } from '../../services/chassis/host/partition.ts';
import type { PartitionParts } from '../../services/chassis/host/partition-parts.ts';
import type { Batch } from '../../services/chassis/host/writer.ts';
import { MemoryCluster } from '../../services/chassis/log/memory/memory-cluster.ts';
import type { PlacedRecord, RecordBody } from '../../services/chassis/protocol/record.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { headerOf } from './placed-record.ts';
import { quietPorts } from './quiet-ports.ts';
import { VirtualClock } from './virtual-clock.ts';

const nothing = (): undefined => undefined;

/** A partition of a host with one service, fed record by record; what it writes is the next that it reads. */
export class FedPartition {
  readonly partition: Partition;
  /** Bodies that it wrote, in order. */
  readonly written: RecordBody[] = [];
  position = 0;
  readonly #queue: Batch[] = [];
  readonly #sequences = new Map<string, number>();

  constructor(logic: AnyLogic, at: { topic: string; partition: number }) {
    const push = (batch: Batch): number => this.#queue.push(batch);
    const parts = {
      ports: quietPorts(new MemoryCluster().connect('fed'), new VirtualClock()),
      identity: { incarnation: 'fed', host: 'fed', release: '0.0.0-test' },
      services: [{ logic, topics: [at.topic] }],
      presence: { isGone: () => false, markMs: () => 0, unlistedMs: () => 0, tracesOf: () => [] },
      watermarks: { of: nothing, trimAt: nothing, closedAt: () => [] },
      watch: { begin: nothing, owned: nothing, saw: nothing, noteOf: nothing },
      writer: { push, pushPlain: nothing, busy: false },
      reading: { pause: nothing, resume: nothing, skip: nothing },
      outlet: {},
      onHalt: (_at: object, error: Error) => {
        throw error;
      },
    };
    this.partition = new Partition(at, parts as unknown as PartitionParts, { low: 0, high: 0 });
    this.partition.claimWhenReady();
    this.#readBack();
  }

  /** The next record of the log. */
  feed(id: string, body: RecordBody): void {
    this.partition.takeOwn([this.#place(id, body)]);
    this.#readBack();
  }

  /** What a host does for its partitions now and then. */
  keepUp(): void {
    this.partition.checkpoint();
    this.#readBack();
  }

  #place(id: string, body: RecordBody): PlacedRecord {
    const header = headerOf(id, body, this.#sequenceOf(body));
    const placed = { offset: this.position, header, body };
    this.position += 1;
    return placed;
  }

  /** Numbers as one epoch of each service has them. */
  #sequenceOf(body: RecordBody): number | undefined {
    if (body.kind !== 'turn' && body.kind !== 'checkpoint') return undefined;
    const sequence = (this.#sequences.get(body.service) ?? 0) + 1;
    this.#sequences.set(body.service, sequence);
    return sequence;
  }

  #readBack(): void {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const placed = next.records.map(({ id, body }) => this.#place(id, body));
      this.written.push(...placed.map(({ body }) => body));
      this.partition.takeOwn(placed);
    }
  }
}
