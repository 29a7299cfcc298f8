import type { Draft, InputEventType, TurnEventType } from '../../../schemas/event.ts';
import { createFixedCodec } from '../../chassis/log/codec.ts';
import type { LogRecord } from '../../chassis/log/port.ts';
import {
  type EpochBody,
  headersOf,
  type InputBody,
  type RecordBody,
  type TurnBody,
} from '../../chassis/protocol/record.ts';
import { recordHash, saltOf, sealEvent } from '../../chassis/protocol/seal.ts';

/** The partition that the sample pretends to be; no broker has it. */
export const sampleTopic = 'longrein.sample';

const codec = createFixedCodec();
const services = [
  'planner',
  'supervisor',
  'worker-pool',
  'model-gateway',
  'tool-guard',
  'tool-runner',
  'sandbox-executor',
  'aggregator',
] as const;
export type SampleService = (typeof services)[number];

export type Owner = Readonly<{
  session: string;
  tenant: string;
  principal: string;
  labels: Readonly<Record<string, string>>;
  release: string;
}>;

/** Writes records as hosts would have written them, one after another. */
export class Script {
  readonly records: LogRecord[] = [];
  private readonly sequences = new Map<string, number>();
  private base = '';

  constructor(atMs: number) {
    const owner = { number: 1, incarnation: 'sample', host: 'sample', release: '0.1.0' };
    const body: EpochBody = { kind: 'epoch', services: [...services], ...owner, atMs };
    this.append('epo_sample', body);
  }

  input(owner: Owner, atMs: number, draft: Draft<InputEventType>): string {
    const { release: _outside, ...rest } = owner;
    const body: InputBody = {
      ...{ kind: 'input', source: 'outside', atMs, ...rest },
      event: sealEvent(saltOf(owner.session), draft),
    };
    return this.append(`inp_${idOf(body)}`, body);
  }

  turn(
    owner: Owner,
    atMs: number,
    [service, ...drafts]: readonly [SampleService, ...Draft<TurnEventType>[]],
  ): string {
    const body: TurnBody = {
      ...{ kind: 'turn', service, epoch: 1, incarnation: 'sample', atMs, ...owner },
      ...{ base: this.base, baseOffset: this.records.length - 1, foreseen: [], causes: [] },
      ...{ facts: { data: { nowMs: atMs } }, behaviour: 1 },
      events: drafts.map((draft) => sealEvent(saltOf(owner.session), draft)),
    };
    return this.append(`trn_${idOf(body)}`, body, service);
  }

  private append(id: string, body: RecordBody, service?: string): string {
    const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' });
    const offset = this.records.length;
    this.records.push({
      ...{ topic: sampleTopic, partition: 0, offset, timestampMs: body.atMs },
      key: body.kind === 'epoch' ? 'epoch/sample' : body.session,
      headers: service === undefined ? headers : { ...headers, lr_sequence: this.next(service) },
      value: codec.encode(body.kind, body),
    });
    this.base = id;
    return id;
  }

  private next(service: string): string {
    const sequence = (this.sequences.get(service) ?? 0) + 1;
    this.sequences.set(service, sequence);
    return String(sequence);
  }
}

const idOf = (body: object): string => recordHash(body).slice(0, 32);
