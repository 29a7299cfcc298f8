import { Kafka, logLevel } from 'kafkajs';
import { goalsTopic, resultsTopic, sessionTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord } from '../../services/chassis/log/port.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';

/**
 * What one step of an agent costs: a procedure agent whose tool calls answer at once. A step is one recorded tool call:
 * requested, permitted, claimed, answered.
 */

type Goals = Readonly<{
  run(plan: string, count: number): Promise<LogRecord[]>;
  close(): Promise<void>;
}>;

async function reading(log: LogPort, topics: readonly string[]) {
  const records: LogRecord[] = [];
  const reader = await log.reader({
    onRecords: (_at, more) => records.push(...more),
    onPartitionError: (_at, error) => process.stderr.write(`${error.message}\n`),
    onInterruption: () => undefined,
  });
  for (const topic of topics) {
    for (const [partition, { high }] of await log.bounds(topic))
      reader.assign({ topic, partition }, high);
  }
  return { records, reader };
}

async function openGoals(config: RuntimeConfig): Promise<Goals> {
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const { records, reader } = await reading(log, [resultsTopic, sessionTopic('normal')]);
  return {
    async run(plan, count) {
      records.length = 0;
      for (let index = 0; index < count; index++) {
        const id = `bench-${Date.now()}-${index}`;
        const value = JSON.stringify({ id, goal: 'bench', plan, tenant: 'bench' });
        await producer.send({ topic: goalsTopic, messages: [{ key: id, value }] });
        const ended = (): boolean =>
          records.filter(({ topic }) => topic === resultsTopic).length > index;
        while (!ended()) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
      return [...records];
    },
    async close() {
      await reader.close();
      await log.close();
      await producer.disconnect();
    },
  };
}

/** Milliseconds from request to answer of each tool call, by the times in the log. */
function stepsOf(records: readonly LogRecord[]): number[] {
  const bySession = new Map<string, LogRecord[]>();
  for (const record of records) {
    const session = record.headers['ce_subject'] ?? '';
    bySession.set(session, [...(bySession.get(session) ?? []), record]);
  }
  return [...bySession.values()].flatMap((session) => {
    const marks = session.filter(({ headers }) => headers['lr_types']?.includes('tool.requested'));
    return marks.slice(1).map((mark, index) => mark.timestampMs - (marks[index]?.timestampMs ?? 0));
  });
}

async function measure(
  name: string,
  config: RuntimeConfig,
  hosts: readonly (readonly string[])[],
): Promise<void> {
  const catalog = new URL('../../../test/fixtures/catalog', import.meta.url).pathname;
  const env = { LONGREIN_CATALOG: catalog };
  const running = await Promise.all(hosts.map((services) => startHostProcess(services, env)));
  const goals = await openGoals(config);
  await goals.run('twenty-steps', 3);
  const records = await goals.run('twenty-steps', 20);
  const steps = stepsOf(records);
  const bytes = records.reduce((sum, record) => sum + (record.value?.length ?? 0), 0);
  const figures = {
    n: steps.length,
    p50Ms: percentile(steps, 0.5),
    p95Ms: percentile(steps, 0.95),
  };
  print({
    bench: name,
    ...figures,
    recordsPerStep: records.length / steps.length,
    bytesPerStep: bytes / steps.length,
  });
  await goals.close();
  await Promise.all(running.map((host) => host.stop()));
}

/** In one host, and with one process per service. */
export async function agentSteps(config: RuntimeConfig): Promise<void> {
  await measure('agent-step-one-host', config, [['all']]);
  const apart = [
    'intake',
    'planner',
    'supervisor',
    'tool-guard',
    'tool-runner',
    'aggregator',
    'worker-pool',
  ];
  await measure(
    'agent-step-services-apart',
    config,
    apart.map((service) => [service]),
  );
}
