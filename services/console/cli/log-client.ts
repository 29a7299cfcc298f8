/** The log as a command uses it. */

import { createKafkaLog } from '../../chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../chassis/log/port.ts';
import { Harness } from '../../client/harness.ts';
import { readLogAddress } from './config.ts';
import type { Environment } from './terminal.ts';

/** Runs the work with an open log and closes it. */
export async function withLog<T>(
  environment: Environment,
  work: (log: LogPort) => Promise<T>,
): Promise<T> {
  const { brokers } = await readLogAddress(environment);
  const log = createKafkaLog({ brokers, clientId: 'longrein-cli' });
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

/** Runs the work with the client that other programs use, and closes it. */
export function withHarness<T>(
  environment: Environment,
  work: (harness: Harness) => Promise<T>,
): Promise<T> {
  return withLog(environment, async (log) => {
    const harness = new Harness({ log });
    try {
      return await work(harness);
    } finally {
      await harness.close();
    }
  });
}
