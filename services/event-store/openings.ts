import { event } from '../../schemas/event.ts';
import { sinksTopic } from '../../schemas/topics.ts';
import { refusedForNow } from '../chassis/host/persistence.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import { AppendError } from '../chassis/log/append-error.ts';
import { partitionOf } from '../chassis/log/partition.ts';
import type { OutgoingRecord, PartitionName } from '../chassis/log/port.ts';
import { inputId } from '../chassis/protocol/ids.ts';
import { headersOf, type InputBody } from '../chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../chassis/protocol/seal.ts';
import { serviceName, sinkSession } from './decide.ts';

/** Logs of the installation itself belong to nobody else. */
export const ownTenant = 'longrein';

type Ports = Pick<HostPorts, 'log' | 'clock' | 'codec' | 'logger'>;

/**
 * Opens the log of ranges of every partition of these topics. Every host does it at every start: the
 * id of the input follows from the partition and from how often its topic was made, so only the first one counts. Resolves
 * with the number of partitions of the ranges' topic.
 */
export async function openSinks(
  ports: Ports,
  topics: readonly string[],
  madeOf: (topic: string) => number | undefined,
): Promise<number> {
  const sinks = (await ports.log.bounds(sinksTopic)).size;
  const byPartition = new Map<number, OutgoingRecord[]>();
  for (const topic of topics) {
    for (const [partition, { low }] of await ports.log.bounds(topic)) {
      const record = openingOf({ topic, partition }, { low, made: madeOf(topic) }, ports);
      const target = partitionOf(record.key, sinks);
      byPartition.set(target, [...(byPartition.get(target) ?? []), record]);
    }
  }
  for (const [partition, records] of byPartition) {
    await appendAtLast({ topic: sinksTopic, partition }, records, ports);
  }
  return sinks;
}

function openingOf(
  { topic, partition }: PartitionName,
  { low, made }: { low: number; made: number | undefined },
  ports: Ports,
): OutgoingRecord {
  const session = sinkSession(topic, partition, made);
  const opened = { topic, partition, fromOffset: low, ...(made === undefined ? {} : { made }) };
  const body: InputBody = {
    kind: 'input',
    session,
    source: serviceName,
    atMs: ports.clock.nowMs(),
    tenant: ownTenant,
    principal: '',
    labels: {},
    event: sealEvent(saltOf(session), event('sink.opened', opened)),
  };
  const id = inputId(session, ['sink.opened']);
  const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' });
  return { key: session, headers, value: ports.codec.encode('input', body) };
}

const retryMs = 500;

async function appendAtLast(
  at: PartitionName,
  records: readonly OutgoingRecord[],
  ports: Ports,
): Promise<void> {
  for (;;) {
    try {
      await ports.log.append(at, records);
      return;
    } catch (thrown) {
      if (!(thrown instanceof AppendError)) throw thrown;
      const isRefused = thrown.failure === 'refused';
      if (isRefused && !thrown.mendable) throw thrown;
      const fields = { ...at, error: thrown.message };
      if (isRefused) ports.logger.error(fields, refusedForNow);
      else ports.logger.warn(fields, 'append not acknowledged; same bytes again');
    }
    await new Promise<void>((resolve) => {
      ports.clock.after(retryMs, resolve);
    });
  }
}
