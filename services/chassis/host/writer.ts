import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import { type ContentSeal, contentCodec } from '../content/content-keys.ts';
import { hasContents, hasLargeContent, sealContents, spillContents } from '../content/spill.ts';
import { toError } from '../errors.ts';
import { AppendError } from '../log/append-error.ts';
import type { OutgoingRecord, PartitionName } from '../log/port.ts';
import { ownHeader } from '../protocol/own-header.ts';
import { headersOf, type PlacedRecord, type RecordBody } from '../protocol/record.ts';
import { Encoded } from './encoded.ts';
import type { HostPorts } from './ports.ts';

/**
 * Appends to one partition (DESIGN 3.2).
 *
 * W1 One request in flight per partition; the same bytes again until it is acknowledged, whatever was learned meanwhile.
 * W2 Turns and checkpoints get their numbers when they are first sent, counted per service and epoch.
 * W3 What was never sent may be dropped; what was sent never is.
 * W4 A batch is never cut by a request.
 * W5 Who shares a request with a record that the broker refuses is not refused with it, unless it is numbered: then its
 *    service asks for a new epoch and decides again.
 */

export type DraftRecord = Readonly<{ id: string; body: RecordBody; traceparent: string }>;

export type Batch = Readonly<{
  records: readonly DraftRecord[];
  /** Asked just before the first sending; true drops the batch (W3). */
  stale?: () => boolean;
  onDropped?: () => void;
  /** The broker has it, from this offset on. */
  onAppended?: (baseOffset: number) => void;
  /**
   * Not written, for certain. Only where it went `alone` does the reason say something about itself; what is not
   * numbered is told only then.
   */
  onRefused?: (error: AppendError, alone: boolean) => void;
}>;

/** A message that is not a record of a session log: results, dead letters, watermarks. */
export type PlainMessage = Readonly<{
  record: OutgoingRecord;
  onAppended?: (offset: number) => void;
  onRefused?: (error: AppendError) => void;
}>;

/** A body with its large contents in blobs, and what seals the others. */
type Ready = Readonly<{ body: RecordBody; seal?: ContentSeal | undefined }>;

type Queued =
  | Readonly<{ batch: Batch; ready: Promise<readonly Ready[]> | undefined }>
  | PlainMessage;

type Request = Readonly<{
  records: readonly OutgoingRecord[];
  placed: readonly (Omit<PlacedRecord, 'offset'> | undefined)[];
  queued: readonly Queued[];
  bytes: number;
}>;

export type WriterEvents = Readonly<{
  /** Records of ours were appended at these offsets, in this order: the short cut past reading them back. */
  onAppended(records: readonly PlacedRecord[]): void;
}>;

export class PartitionWriter {
  private readonly queue: Queued[] = [];
  private readonly sequences = new Map<string, number>();
  private running = false;
  /** So many of the next batches go in requests of their own: one of them made the broker refuse their company. */
  private singly = 0;
  /** Requests get no larger; less than the limit where the broker was found to take less. */
  private bytesMax: number = limits.requestBytesMax;
  private closed = false;

  private readonly partition: PartitionName;
  private readonly ports: HostPorts;
  private readonly events: WriterEvents;

  constructor(partition: PartitionName, ports: HostPorts, events: WriterEvents) {
    this.partition = partition;
    this.ports = ports;
    this.events = events;
  }

  push(batch: Batch): void {
    const bytesMax = limits.contentInlineBytesMax;
    const isPlain = this.ports.keys?.enabled !== true;
    const asItIs = isPlain && !batch.records.some(({ body }) => hasLargeContent(body, bytesMax));
    this.queue.push({ batch, ready: asItIs ? undefined : this.prepare(batch) });
    this.wake();
  }

  pushPlain(message: PlainMessage): void {
    this.queue.push(message);
    this.wake();
  }

  /** Whether anything is queued or on the way. */
  get busy(): boolean {
    return this.running;
  }

  /** Nothing more is sent; what is on the way may still land. */
  close(): void {
    this.closed = true;
  }

  private prepare(batch: Batch): Promise<readonly Ready[]> {
    const bytesMax = limits.contentInlineBytesMax;
    return Promise.all(batch.records.map(({ body }) => this.preparePatiently(body, bytesMax)));
  }

  /** A blob store or a key that is away is waited for: what waits behind keeps its place (DESIGN 3.14). */
  private async preparePatiently(body: RecordBody, bytesMax: number): Promise<Ready> {
    for (let attempt = 0; ; attempt++) {
      try {
        const keys = hasContents(body) && body.kind !== 'epoch' ? this.ports.keys : undefined;
        const seal = keys?.sealOf((body as { session: string }).session);
        return { seal, body: await spillContents(body, this.ports.blobs, bytesMax, seal) };
      } catch (thrown) {
        await this.pause(attempt, toError(thrown), 'contents not stored; again');
      }
    }
  }

  private wake(): void {
    if (this.running || this.closed) return;
    this.running = true;
    this.run().catch((thrown: unknown) => {
      this.running = false;
      this.ports.logger.error(
        { ...this.partition, error: toError(thrown).message },
        'writer stopped',
      );
      throw thrown;
    });
  }

  private async run(): Promise<void> {
    while (this.queue.length > 0 && !this.closed) {
      const request = await this.nextRequest();
      if (request.records.length === 0) continue;
      const sent = this.send(request);
      if (!ablated('2b')) await sent;
    }
    this.running = false;
  }

  /** Takes whole batches up to the limits, numbers and encodes them. */
  private async nextRequest(): Promise<Request> {
    const records: OutgoingRecord[] = [];
    const placed: (Omit<PlacedRecord, 'offset'> | undefined)[] = [];
    const queued: Queued[] = [];
    let bytes = 0;
    while (this.queue.length > 0 && records.length < limits.requestRecordsMax) {
      if (this.singly > 0 && queued.length > 0) break;
      const next = this.queue[0] as Queued;
      const encoded = await this.encode(next);
      if (encoded === undefined) {
        this.queue.shift();
        continue;
      }
      const size = encoded.reduce((sum, one) => sum + one.bytes, 0);
      if (records.length > 0 && bytes + size > this.bytesMax) break;
      this.queue.shift();
      bytes += size;
      queued.push(next);
      for (const one of encoded) {
        records.push(this.numbered(one.record, one.body));
        placed.push(one.body === undefined ? undefined : { header: one.header(), body: one.body });
      }
    }
    this.singly = Math.max(0, this.singly - queued.length);
    return { records, placed, queued, bytes };
  }

  private async encode(next: Queued): Promise<readonly Encoded[] | undefined> {
    if ('record' in next) return [new Encoded(next.record)];
    const all = next.ready === undefined ? undefined : await next.ready;
    if (next.batch.stale?.() === true) {
      next.batch.onDropped?.();
      return undefined;
    }
    const { records } = next.batch;
    const encoded = records.map(async (one, index) => {
      const ready = all?.[index] ?? { body: one.body };
      const place = {
        batch: records[0]?.id ?? '',
        batchIndex: index,
        traceparent: one.traceparent,
        ...(ready.seal === undefined ? {} : { codec: contentCodec }),
      };
      const record = {
        key: one.body.kind === 'epoch' ? `epoch/${one.body.host}` : one.body.session,
        headers: headersOf(one.id, one.body, place),
        value: await this.valueOf(ready),
      };
      return new Encoded(record, { body: one.body, header: ownHeader(one.id, one.body, place) });
    });
    return Promise.all(encoded);
  }

  /** Many small contents can make a record too large as well: then none of them stays in it. */
  private async valueOf({ body, seal }: Ready): Promise<Uint8Array> {
    const { codec } = this.ports;
    const value = codec.encode(body.kind, seal === undefined ? body : sealContents(body, seal));
    if (value.length <= limits.turnBytesMax) return value;
    return codec.encode(body.kind, (await this.preparePatiently(body, 0)).body);
  }

  private numbered(record: OutgoingRecord, body: RecordBody | undefined): OutgoingRecord {
    if (body?.kind !== 'turn' && body?.kind !== 'checkpoint') return record;
    const counter = `${body.service}/${body.epoch}`;
    const sequence = (this.sequences.get(counter) ?? 0) + 1;
    this.sequences.set(counter, sequence);
    (record.headers as Record<string, string>)['lr_sequence'] = String(sequence);
    return record;
  }

  private async send(request: Request): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        const { baseOffset } = await this.ports.log.append(this.partition, request.records);
        this.appended(request, baseOffset);
        return;
      } catch (thrown) {
        if (thrown instanceof AppendError && (thrown.failure === 'refused' || ablated('14a'))) {
          this.refused(request, thrown);
          return;
        }
        if (this.closed) return;
        await this.pause(attempt, toError(thrown), 'append not acknowledged; same bytes again');
        if (ablated('2a')) this.renumber(request);
      }
    }
  }

  private renumber({ records, placed }: Request): void {
    for (const [index, record] of records.entries()) this.numbered(record, placed[index]?.body);
  }

  private pause(attempt: number, error: Error, message: string): Promise<void> {
    const delayMs = Math.min(2_000, 50 * 2 ** Math.min(attempt, 6));
    this.ports.logger.warn({ ...this.partition, attempt, error: error.message }, message);
    return new Promise((resolve) => {
      this.ports.clock.after(delayMs, resolve);
    });
  }

  private appended(request: Request, baseOffset: number): void {
    const records = request.placed.flatMap((one, index) =>
      one === undefined ? [] : [{ ...one, offset: baseOffset + index }],
    );
    const whole = records.length === request.records.length && !ablated('2a');
    if (whole) this.events.onAppended(records);
    let offset = baseOffset;
    for (const queued of request.queued) {
      if ('record' in queued) {
        queued.onAppended?.(offset);
        offset += 1;
        continue;
      }
      queued.batch.onAppended?.(offset);
      offset += queued.batch.records.length;
    }
  }

  private refused(request: Request, error: AppendError): void {
    this.ports.logger.error({ ...this.partition, error: error.message }, 'append refused');
    const alone = request.queued.length === 1;
    // Else the same company would come together again, and be refused again.
    if (!alone && error.refusal === 'too-large') this.bytesMax = Math.floor(request.bytes / 2);
    const again = alone ? [] : request.queued.filter((queued) => !isNumbered(queued));
    for (const queued of request.queued) {
      if (again.includes(queued)) continue;
      if ('record' in queued) queued.onRefused?.(error);
      else queued.batch.onRefused?.(error, alone);
    }
    this.queue.unshift(...again);
    this.singly += again.length;
  }
}

/** What holds turns or checkpoints is bound to its numbers, and they are lost with the request. */
const isNumbered = (queued: Queued): boolean =>
  !('record' in queued) &&
  queued.batch.records.some(({ body }) => body.kind === 'turn' || body.kind === 'checkpoint');
