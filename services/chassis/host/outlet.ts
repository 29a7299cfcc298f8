import { toError } from '../errors.ts';
import type { AppendError } from '../log/append-error.ts';
import { partitionOf } from '../log/partition.ts';
import type { PartitionName } from '../log/port.ts';
import { destinationOf } from '../protocol/decision.ts';
import { inputId } from '../protocol/ids.ts';
import type { InputBody, Refused } from '../protocol/record.ts';
import { saltOf, sealEvent } from '../protocol/seal.ts';
import type { Delivery, SessionMeta } from '../protocol/service-logic.ts';
import { persist, type Wish } from './persistence.ts';
import type { HostPorts } from './ports.ts';
import type { PartitionWriter } from './writer.ts';

export type DeliveryOrigin = Readonly<{
  event: Readonly<{ type: string; atMs: number }>;
  service: string;
  session: SessionMeta;
  traceparent: string;
  /** False once another host sends it: this one stops trying. */
  wanted: () => boolean;
}>;

/** What became of a delivery. `unwanted`: it was not sent, or not again. */
export type Delivered = 'acknowledged' | 'unwanted' | Readonly<{ refused: Refused }>;

export type OutletParts = Readonly<{
  ports: HostPorts;
  /** Number of partitions of a topic; known since start-up. */
  partitions: (topic: string) => number;
  writer: (partition: PartitionName) => PartitionWriter;
  /** Finds out about a topic that was made after the start; undefined where it is known. */
  learn: (topic: string) => Promise<void> | undefined;
}>;

/** So long a delivery waits before keys are asked for again. */
const keysAgainMs = 2_000;

/** `longrein.dead-letter.v1` is of the subject `dead-letter`. */
const subjectOf = (type: string): string => type.replace(/^longrein\.|\.v\d+$/g, '');

const refusedBy = ({ refusal, message }: AppendError): Refused => ({
  code: refusal === 'too-large' ? 'DELIVERY_TOO_LARGE' : 'DELIVERY_INVALID',
  message,
});

/**
 * Writes to other logs that follow from effective events (DESIGN 3.12). Everything in the record follows from the event,
 * so that sending again after a restart sends the same bytes.
 */
export class Outlet {
  private readonly parts: OutletParts;

  constructor(parts: OutletParts) {
    this.parts = parts;
  }

  /**
   * Resolves when the broker has it, or will never take it; what it refuses only for now is sent again. Rejects where
   * it cannot be sent at all.
   */
  async deliver(delivery: Delivery, origin: DeliveryOrigin): Promise<Delivered> {
    const learning = this.parts.learn(delivery.topic);
    if (learning !== undefined) await learning;
    if (this.needsKey(delivery, origin)) await this.keyed(delivery, origin);
    if (!origin.wanted()) return 'unwanted';
    const push =
      delivery.to === 'log' ? this.relay(delivery, origin) : this.publish(delivery, origin);
    const { event, session, wanted } = origin;
    const fields = { session: session.session, event: event.type, to: destinationOf(delivery) };
    return new Promise((resolve) => {
      persist(this.parts.ports, {
        ...{ what: 'a delivery', fields, wanted, push },
        onTaken: () => resolve('acknowledged'),
        onHopeless: (error) => resolve({ refused: refusedBy(error) }),
        onGivenUp: () => resolve('unwanted'),
      });
    });
  }

  /** A session that a sealed one opens is sealed too. */
  private needsKey(
    delivery: Delivery,
    { session }: DeliveryOrigin,
  ): delivery is Extract<Delivery, { to: 'log' }> {
    if (delivery.to !== 'log' || delivery.event.type !== 'session.opened') return false;
    return this.parts.ports.keys?.isSealed(session.session) === true;
  }

  /** Before the opening gets its digests, which are salted from the key. Waits for keys that are away. */
  private async keyed(
    { session: opened }: Extract<Delivery, { to: 'log' }>,
    { session, wanted }: DeliveryOrigin,
  ): Promise<void> {
    const { keys, clock, logger } = this.parts.ports;
    while (wanted()) {
      try {
        keys?.begin(opened, session.tenant);
        return;
      } catch (thrown) {
        const fields = { session: opened, error: toError(thrown).message };
        logger.error(fields, 'a session waits for the keys of its tenant');
        await new Promise<void>((resolve) => {
          clock.after(keysAgainMs, resolve);
        });
      }
    }
  }

  private relay(delivery: Extract<Delivery, { to: 'log' }>, origin: DeliveryOrigin): Wish['push'] {
    const { topic, session } = delivery;
    const { tenant, principal, labels } =
      delivery.tenant === undefined
        ? origin.session
        : { tenant: delivery.tenant, principal: '', labels: {} };
    const body: InputBody = {
      kind: 'input',
      session,
      source: origin.service,
      atMs: origin.event.atMs,
      tenant,
      principal,
      labels,
      event: sealEvent(saltOf(session), delivery.event),
    };
    const id = inputId(session, delivery.identity);
    const writer = this.writerOf(topic, session);
    const records = [{ id, body, traceparent: origin.traceparent }];
    return ({ appended, refused }) =>
      writer.push({ records, onAppended: appended, onRefused: refused });
  }

  private publish(
    delivery: Extract<Delivery, { to: 'public' }>,
    origin: DeliveryOrigin,
  ): Wish['push'] {
    const { codec } = this.parts.ports;
    const headers = {
      ce_specversion: '1.0',
      ce_id: delivery.id,
      ce_type: delivery.type,
      ce_source: `/services/${origin.service}`,
      ce_subject: origin.session.session,
      ce_time: new Date(origin.event.atMs).toISOString(),
      'content-type': 'application/json',
      ...(origin.traceparent === '' ? {} : { traceparent: origin.traceparent }),
    };
    const value = codec.encode(subjectOf(delivery.type), delivery.value);
    const writer = this.writerOf(delivery.topic, delivery.key);
    const record = { key: delivery.key, headers, value };
    return ({ appended, refused }) =>
      writer.pushPlain({ record, onAppended: appended, onRefused: refused });
  }

  private writerOf(topic: string, key: string): PartitionWriter {
    const partition = partitionOf(key, this.parts.partitions(topic));
    return this.parts.writer({ topic, partition });
  }
}
