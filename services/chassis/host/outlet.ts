import type { SeenEvent } from '../../../schemas/event.ts';
import { partitionOf } from '../log/partition.ts';
import type { PartitionName } from '../log/port.ts';
import { inputId } from '../protocol/ids.ts';
import type { InputBody } from '../protocol/record.ts';
import { saltOf, sealEvent } from '../protocol/seal.ts';
import type { Delivery, SessionMeta } from '../protocol/service-logic.ts';
import type { HostPorts } from './ports.ts';
import type { PartitionWriter } from './writer.ts';

export type DeliveryOrigin = Readonly<{
  event: SeenEvent;
  service: string;
  session: SessionMeta;
  traceparent: string;
}>;

export type OutletParts = Readonly<{
  ports: HostPorts;
  /** Number of partitions of a topic; known since start-up. */
  partitions: (topic: string) => number;
  writer: (partition: PartitionName) => PartitionWriter;
  /** Finds out about a topic that was made after the start; undefined where it is known. */
  learn: (topic: string) => Promise<void> | undefined;
}>;

const subjectOf = (type: string): string =>
  type.startsWith('longrein.result.') ? 'result' : 'dead-letter';

/**
 * Writes to other logs that follow from effective events (DESIGN 3.12). Everything in the record follows from the event,
 * so that sending again after a restart sends the same bytes.
 */
export class Outlet {
  private readonly parts: OutletParts;

  constructor(parts: OutletParts) {
    this.parts = parts;
  }

  /** Resolves when the broker has it. */
  deliver(delivery: Delivery, origin: DeliveryOrigin): Promise<void> {
    const learning = this.parts.learn(delivery.topic);
    if (learning !== undefined) return learning.then(() => this.send(delivery, origin));
    return this.send(delivery, origin);
  }

  private send(delivery: Delivery, origin: DeliveryOrigin): Promise<void> {
    return delivery.to === 'log' ? this.relay(delivery, origin) : this.publish(delivery, origin);
  }

  private relay(delivery: Extract<Delivery, { to: 'log' }>, origin: DeliveryOrigin): Promise<void> {
    const { topic, session } = delivery;
    const { tenant, principal, labels } = origin.session;
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
    return new Promise((resolve, reject) => {
      this.writerOf(topic, session).push({
        records: [{ id, body, traceparent: origin.traceparent }],
        onAppended: () => resolve(),
        onRefused: reject,
      });
    });
  }

  private publish(
    delivery: Extract<Delivery, { to: 'public' }>,
    origin: DeliveryOrigin,
  ): Promise<void> {
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
    return new Promise((resolve, reject) => {
      this.writerOf(delivery.topic, delivery.key).pushPlain({
        record: { key: delivery.key, headers, value },
        onAppended: () => resolve(),
        onRefused: reject,
      });
    });
  }

  private writerOf(topic: string, key: string): PartitionWriter {
    const partition = partitionOf(key, this.parts.partitions(topic));
    return this.parts.writer({ topic, partition });
  }
}
