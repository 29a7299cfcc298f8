import { expect, test } from 'vitest';
import { sessionTopic, sinksTopic } from '../../../../schemas/topics.ts';
import { MemoryCluster } from '../../../../services/chassis/log/memory/memory-cluster.ts';
import type { AppendFault } from '../../../../services/chassis/log/memory/memory-network.ts';
import { openSinks } from '../../../../services/event-store/openings.ts';
import { keepingLogger, quietPorts } from '../../../support/quiet-ports.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

function world(...faults: AppendFault[]) {
  const clock = new VirtualClock();
  const append = (): AppendFault => faults.shift() ?? 'ok';
  const cluster = new MemoryCluster({ scheduler: clock, faults: { append } });
  const names = [sinksTopic, sessionTopic('normal')];
  cluster.topics.ensure(names.map((name) => ({ name, partitions: 1, config: {} })));
  const logger = keepingLogger();
  const ports = { ...quietPorts(cluster.connect('store'), clock), logger };
  const records = () => cluster.records({ topic: sinksTopic, partition: 0 });
  return { clock, ports, logger, records };
}

test('the logs of ranges are opened once the right to write is there, and until then that is said', async () => {
  const { clock, ports, logger, records } = world('refused', 'lost');
  const opened = openSinks(ports, [sessionTopic('normal')], () => undefined);
  await clock.run(5_000);
  expect(await opened).toBe(1);
  expect(records()).toHaveLength(1);
  expect(logger.lines.map(({ level }) => level)).toEqual(['error', 'warn']);
});

test('what the broker will never take is an error', async () => {
  const { clock, ports } = world('too-large');
  const opened = openSinks(ports, [sessionTopic('normal')], () => undefined);
  const failed = expect(opened).rejects.toThrow(/too many bytes/);
  await clock.run(5_000);
  await failed;
});
