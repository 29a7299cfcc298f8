import { afterEach, beforeEach, describe } from 'vitest';
import type { LogPort } from '../../../services/chassis/log/port.ts';
import { appendContract } from './append-contract.ts';
import type { Bench } from './bench.ts';
import { groupContract } from './group-contract.ts';
import { readContract } from './read-contract.ts';
import { topicContract } from './topic-contract.ts';

/** What every log must do. Run by one test file for each implementation. */

/** One cluster; `connect` gives each program of a test a log of its own. */
export type LogUnderTest = Readonly<{ connect(name: string): LogPort }>;

export function describeLog(name: string, open: () => LogUnderTest): void {
  describe(`the ${name} log`, () => {
    let logs: LogPort[] = [];
    let cluster: LogUnderTest;
    beforeEach(() => {
      cluster = open();
      logs = [];
    });
    afterEach(async () => {
      await Promise.all(logs.map((log) => log.close()));
    });
    const bench = benchOf((program) => {
      const log = cluster.connect(program);
      logs.push(log);
      return log;
    });
    appendContract(bench);
    readContract(bench);
    topicContract(bench);
    groupContract(bench);
  });
}

function benchOf(connect: (program: string) => LogPort): Bench {
  let names = 0;
  const freshName = (): string => {
    names += 1;
    return `contract-${process.pid}-${Date.now().toString(36)}-${names}`;
  };
  return {
    freshName,
    connect: (program = 'program') => connect(program),
    async topic(partitions, config = {}) {
      const topic = freshName();
      await connect('creator').ensureTopics([{ name: topic, partitions, config }]);
      return topic;
    },
    reader: (log, handlers) => log.reader(handlers),
    join: (log, group, topics, handlers) => log.join(group, topics, handlers),
  };
}
