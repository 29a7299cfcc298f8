import { afterAll, beforeAll, expect, it } from 'vitest';
import { resultsTopic } from '../../../schemas/topics.ts';
import { createKafkaLog } from '../../../services/chassis/log/kafka/kafka-log.ts';
import { partitionOf } from '../../../services/chassis/log/partition.ts';
import type { LogRecord } from '../../../services/chassis/log/port.ts';
import { Harness } from '../../../services/client/index.ts';
import { temporaryCatalog } from '../../support/document-files.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../../support/live-stack.ts';

/** What parts of a plan give is heard before its end, by followers and by readers of longrein.results. */

const stack = stackUnderTest();
const directory = temporaryCatalog({
  'plans/two-parts.yaml': `
name: two-parts
version: 1.0.0
description: One part is there long before the other.
progress: true
tasks:
  - { id: quick, pool: test, agent: echoer, input: { said: early } }
  - { id: slow, pool: test, agent: counter, input: { counter: two-parts, waitMs: 1500 } }
output: { kind: collect }
`,
});
let host: LiveHost;
beforeAll(async () => {
  host = await new LiveHost({
    stack,
    eventStore: false,
    catalog: [fixture('catalog'), directory.path],
  }).ready();
});
afterAll(async () => {
  await host.remove();
  directory.remove();
});

/** The messages of one session on longrein.results, in their order. */
async function messagesOf(session: string): Promise<readonly Record<string, unknown>[]> {
  const log = createKafkaLog({ brokers: stack.brokers, clientId: 'progress-test' });
  const bounds = await log.bounds(resultsTopic);
  const partition = partitionOf(session, bounds.size);
  const { low = 0, high = 0 } = bounds.get(partition) ?? {};
  const found: LogRecord[] = [];
  let next = low;
  await new Promise<void>((resolve, reject) => {
    void log
      .reader({
        onRecords: (_at, records) => {
          for (const record of records) {
            next = record.offset + 1;
            if (record.key === session) found.push(record);
          }
          if (next >= high) resolve();
        },
        onPartitionError: (_at, error) => reject(error),
        onInterruption: () => undefined,
      })
      .then((reader) => reader.assign({ topic: resultsTopic, partition }, low), reject);
  });
  await log.close();
  return found.map(({ value }) => {
    // After the registry's five bytes.
    const text = Buffer.from(value ?? [])
      .subarray(5)
      .toString('utf8');
    return JSON.parse(text) as Record<string, unknown>;
  });
}

it('a part that is there early is heard before the result, once', async () => {
  const harness = new Harness({ brokers: stack.brokers });
  const heard: string[] = [];
  const result = await harness.run({
    plan: 'two-parts',
    onEvent: ({ event }) => {
      if (event.type === 'progress.published') heard.push(event.data.task);
      if (event.type === 'session.completed') heard.push('end');
    },
  });
  await harness.close();
  expect(heard).toEqual(['quick', 'end']);
  const messages = await messagesOf(result.session);
  expect(messages).toHaveLength(2);
  const progress = { task: 'quick', completed: 1, tasks: 2 };
  expect(messages[0]).toMatchObject({ session: result.session, goalId: result.goalId, progress });
  expect(messages[0]?.['output']).toEqual((result.output as Record<string, unknown>)['quick']);
  expect(messages[1]).toMatchObject({ status: 'completed' });
});
