import { beforeEach, describe, expect, it } from 'vitest';
import { lanes, registryTopic, sessionTopic } from '../../../../schemas/topics.ts';
import {
  firstTable,
  type LaneTable,
  laneTableKey,
  withGeneration,
} from '../../../../services/chassis/host/lane-table.ts';
import { MemoryCluster } from '../../../../services/chassis/log/memory/memory-cluster.ts';
import type { LogPort } from '../../../../services/chassis/log/port.ts';
import { LaneTopics } from '../../../../services/client/lane-topics.ts';
import { Tail } from '../../../../services/client/tail.ts';

let log: LogPort;
let looks: string[];

/** What a client reads of the lanes, and each look that it takes at a topic. */
async function open(topics: readonly string[]): Promise<LaneTopics> {
  const own = new MemoryCluster().connect('client');
  await own.ensureTopics(topics.map((name) => ({ name, partitions: 1, config: {} })));
  looks = [];
  log = Object.assign(Object.create(own) as LogPort, {
    append: own.append.bind(own),
    reader: own.reader.bind(own),
    bounds: (topic: string) => {
      looks.push(topic);
      return own.bounds(topic);
    },
  });
  return new LaneTopics(log, new Tail(log));
}

const laneNames = lanes.map((lane) => sessionTopic(lane));

const tell = (table: LaneTable): Promise<unknown> =>
  log.append({ topic: registryTopic, partition: 0 }, [
    { key: laneTableKey, headers: {}, value: Buffer.from(JSON.stringify(table)) },
  ]);

const rescaled = withGeneration(firstTable(1), {
  partitions: 2,
  addedAtMs: 1,
  by: 'ann',
  reason: 'more work',
});

describe('topics of the lanes', () => {
  let topics: LaneTopics;

  beforeEach(async () => {
    topics = await open([registryTopic, ...laneNames]);
  });

  it('are looked up once', async () => {
    expect(await topics.all()).toEqual(laneNames);
    const before = looks.length;
    expect(await topics.all()).toEqual(laneNames);
    expect(looks).toHaveLength(before);
  });

  it('are others as soon as the registry says so', async () => {
    await topics.all();
    await tell(rescaled);
    await expect.poll(() => topics.all()).toHaveLength(2 * lanes.length);
    expect((await topics.all()).slice(lanes.length)).toEqual(laneNames);
  });

  it('do not change with what else is written to the registry', async () => {
    await topics.all();
    const before = looks.length;
    const at = { topic: registryTopic, partition: 0 };
    await log.append(at, [{ key: 'tools/x', headers: {}, value: Buffer.from('{}') }]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await topics.all()).toEqual(laneNames);
    expect(looks).toHaveLength(before);
  });

  it('that cannot be read are an error, and asked for again', async () => {
    await tell({ generations: [] });
    await expect(topics.all()).rejects.toThrow(laneTableKey);
    await tell(rescaled);
    expect(await topics.all()).toHaveLength(2 * lanes.length);
  });
});

it('where there is no registry, the lanes are those of the first generation', async () => {
  const topics = await open(laneNames);
  expect(await topics.all()).toEqual(laneNames);
  const before = looks.length;
  expect(await topics.all()).toEqual(laneNames);
  expect(looks).toHaveLength(before);
});
