import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../../../../schemas/event.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { sessionTopic } from '../../../../schemas/topics.ts';
import { createKafkaLog } from '../../../../services/chassis/log/kafka/kafka-log.ts';
import { partitionOf } from '../../../../services/chassis/log/partition.ts';
import type { LogPort } from '../../../../services/chassis/log/port.ts';
import { subjectsOf } from '../../../../services/chassis/log/registry.ts';
import { sessionId } from '../../../../services/chassis/protocol/ids.ts';
import { headersOf } from '../../../../services/chassis/protocol/record.ts';
import { runCli } from '../../../../services/console/cli/program.ts';
import { fakeTerminal } from '../../../support/fake-terminal.ts';
import { GoalDesk } from '../../../support/goal-desk.ts';
import { LiveHost } from '../../../support/live-hosts.ts';
import { OwnBacking } from '../../../support/own-backing.ts';
import { inputBody } from '../../../support/written-session.ts';

/** DESIGN 3.13 on a real broker: what happens to a partition, what a person reads, and that others go on. */

const partitions = 3;
const [high, normal, bulk] = ['high', 'normal', 'bulk'].map(sessionTopic) as [
  string,
  string,
  string,
];
const services = ['intake', 'planner', 'supervisor', 'worker-pool', 'tool-guard'];
const runners = ['tool-runner', 'model-gateway', 'sandbox-executor', 'aggregator', 'janitor'];

let backing: OwnBacking;
let host: LiveHost;
let desk: GoalDesk;
let admin: Admin;
let log: LogPort;
const hosts: LiveHost[] = [];

function newHost(env: Record<string, string> = {}): LiveHost {
  const settings = { LONGREIN_PARTITIONS: String(partitions), ...env };
  const one = new LiveHost({
    stack: backing.stack,
    services: [...services, ...runners],
    env: settings,
  });
  hosts.push(one);
  return one;
}

beforeAll(async () => {
  backing = await OwnBacking.prepare();
  await backing.startBroker();
  await backing.startRegistry();
  host = await newHost().ready();
  desk = await GoalDesk.open(backing.stack);
  const brokers = [...backing.stack.brokers];
  admin = new Kafka({ clientId: 'admin', brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  log = createKafkaLog({ brokers, clientId: 'test' });
}, 240_000);

afterAll(async () => {
  await Promise.all([desk?.close(), admin?.disconnect(), log?.close()]);
  await Promise.all(hosts.map((one) => one.remove()));
  await backing?.remove();
});

/** The id of a schema. A registry that has just come up answers reads before it takes writes, and takes some for a conflict. */
async function registered(name: string, schema: string): Promise<number> {
  const url = `${backing.stack.registryUrl}/subjects/${name}/versions`;
  const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
  const body = JSON.stringify({ schemaType: 'JSON', schema });
  for (const endMs = Date.now() + 30_000; ; await sleep(200)) {
    const answer = await fetch(url, { method: 'POST', headers, body });
    const text = await answer.text();
    if (answer.ok) return (JSON.parse(text) as { id: number }).id;
    if ((answer.status < 500 && answer.status !== 409) || Date.now() > endMs)
      throw new Error(`the registry refused ${name}: ${answer.status} ${text}`);
  }
}

async function cli(...argv: string[]): Promise<{ code: number; text: string }> {
  const terminal = fakeTerminal();
  const environment = {
    LONGREIN_BROKERS: backing.stack.brokers.join(','),
    LONGREIN_REGISTRY_URL: backing.stack.registryUrl,
    LONGREIN_STATE_DIR: host.stateDir,
    LONGREIN_PARTITIONS: String(partitions),
    USER: 'ann',
  };
  const code = await runCli(argv, { environment, workingDir: host.stateDir, terminal });
  return { code, text: `${terminal.stdout}${terminal.stderr}` };
}

/** A goal whose session is in this partition of its lane. */
async function goalIn(lane: string, partition: number): Promise<string> {
  let id = '';
  do id = `goal-${randomUUID()}`;
  while (partitionOf(sessionId('default', '', id), partitions) !== partition);
  const goal = { id, goal: 'of a test', plan: 'echo', inputs: { said: id }, priority: lane };
  await desk.send(goal);
  return id;
}

async function works(lane: string, partition: number, withinMs = 30_000): Promise<void> {
  const id = await goalIn(lane, partition);
  expect(await desk.result(id, withinMs)).toMatchObject({ status: 'completed', output: id });
}

const halted = (where: string, code: string) =>
  host.said(
    (line) =>
      line.msg === 'partition stopped' &&
      line.code === code &&
      `${line['topic']}/${line['partition']}` === where,
    40_000,
  );

async function highOf(topic: string, partition: number): Promise<number> {
  return (await log.bounds(topic)).get(partition)?.high ?? 0;
}

/** Waits until status says it, or says it no more. */
async function statusSays(words: string, says = true): Promise<string> {
  const untilMs = Date.now() + 90_000;
  for (;;) {
    const { text } = await cli('status');
    if (text.includes(words) === says) return text;
    if (Date.now() > untilMs)
      throw new Error(`status ${says ? 'lacks' : 'has'} ${words}:\n${text}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

const headers = (session: string): Record<string, string> => {
  const body = inputBody(session, event('key.refused', { keyLog: 'key_x', waiting: 1 }));
  return headersOf(`inp_${randomUUID()}`, body, { batch: 'b', batchIndex: 0, traceparent: '' });
};

function framed(schemaId: number): Buffer {
  const bytes = Buffer.alloc(7);
  bytes.writeUInt32BE(schemaId, 1);
  bytes.write('{}', 5);
  return bytes;
}

describe('a topic with another number of partitions', () => {
  it('is refused at the start, with both numbers and what to do', async () => {
    const other = newHost({ LONGREIN_PARTITIONS: '5' });
    expect((await other.exit).code).toBe(1);
    const last = other.log.at(-1);
    expect(last?.code).toBe('TOPIC_PARTITIONS_DIFFER');
    expect(last?.error).toContain(`has ${partitions} partitions, but 5 are configured`);
    expect(last?.fix).toContain(`Configure ${partitions}`);
    await works('normal', 0);
  });
});

describe('records that are not ours', () => {
  it('of another program, unframed, and of 10 MB, are passed over', async () => {
    const configEntries = [{ name: 'max.message.bytes', value: '12000000' }];
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: 2, name: normal, configEntries }],
    });
    const at = { topic: normal, partition: 0 };
    const session = 'ses_of-nobody';
    await log.append(at, [{ key: 'k', headers: {}, value: Buffer.from('hello') }]);
    await log.append(at, [{ key: session, headers: headers(session), value: Buffer.from([7, 1]) }]);
    await log.append(at, [{ key: 'k', headers: {}, value: Buffer.alloc(10_000_000, 1) }]);
    await works('normal', 0);
    const line = await host.said(({ msg }) => msg === 'record of another program ignored');
    expect(line).toMatchObject({ topic: normal, partition: 0 });
    expect((await cli('status')).text).not.toContain('stopped  ');
  });
});

describe('a record with an unknown schema id', () => {
  it('waits for a registry that is down, and is read when it is back; other partitions go on', async () => {
    await backing.stopRegistry();
    const session = 'ses_of-nobody';
    const record = { key: session, headers: headers(session), value: framed(999_999) };
    await log.append({ topic: high, partition: 0 }, [record]);
    const line = await host.said(({ msg }) => msg === 'record waits for its contents');
    expect(line).toMatchObject({ topic: high, partition: 0 });
    expect(line.error).toContain('registry');
    const waiting = await goalIn('high', 0);
    await works('high', 1);
    expect(desk.resultRecords(waiting)).toEqual([]);
    await backing.startRegistry();
    expect(await desk.result(waiting)).toMatchObject({ status: 'completed' });
  });

  it('of a newer release makes this one stand by for that session, and says so', async () => {
    const name = 'longrein.record.input';
    const own = subjectsOf().find((subject) => subject.name === name)?.schema as JsonObject;
    const properties = { ...(own['properties'] as JsonObject), later: { type: 'string' } };
    const id = await registered(name, JSON.stringify({ ...own, properties }));
    const session = 'ses_of-nobody';
    const record = { key: session, headers: headers(session), value: framed(id) };
    await log.append({ topic: bulk, partition: 0 }, [record]);
    const line = await host.said(({ msg }) => msg === 'a newer release is about: standing by');
    expect(line).toMatchObject({ topic: bulk, partition: 0, session });
    expect(line.fix).toContain('start the newer release');
    await works('bulk', 0);
    await works('bulk', 1);
    await statusSays('NEWER_RELEASE');
  });
});

describe('a topic that is deleted while hosts run', () => {
  it('stops its partitions, others go on, and a person has it made again', async () => {
    await admin.deleteTopics({ topics: [high] });
    const line = await halted(`${high}/1`, 'TOPIC_UNKNOWN');
    expect(line.fix).toContain(`longrein topics reset ${high}`);
    await works('normal', 1);
    const doctor = await cli('doctor');
    expect(doctor.text).toContain(`longrein topics reset ${high}`);
    const refused = await cli('topics', 'reset', high);
    expect(refused.text).toContain('there is no reason');
    const { code, text } = await cli('topics', 'reset', high, '--reason', 'deleted by mistake');
    expect(text).toContain(`${high}/0 is read from 0 on`);
    expect(code).toBe(0);
    await works('high', 1, 90_000);
    await statusSays('TOPIC_UNKNOWN', false);
  });
});

describe('a host that starts', () => {
  /** Records of another program at the end of every partition. */
  async function grow(topic: string, count: number): Promise<void> {
    const record = { key: 'k', headers: {}, value: Buffer.from('x') };
    for (let partition = 0; partition < partitions; partition++)
      await log.append(
        { topic, partition },
        Array.from({ length: count }, () => record),
      );
  }

  async function restarted(meanwhile: () => Promise<void>): Promise<void> {
    await host.stop();
    await meanwhile();
    host = await newHost().ready();
  }

  it('where the log was truncated below the watermark stops there, until a person gives up what is lost', async () => {
    await restarted(async () => {
      await grow(normal, 50);
      const offset = String(await highOf(normal, 0));
      await admin.deleteTopicRecords({ topic: normal, partitions: [{ partition: 0, offset }] });
    });
    const line = await halted(`${normal}/0`, 'LOG_TRUNCATED');
    const command = `longrein topics reset ${normal} --partition 0`;
    expect(line.fix).toContain(command);
    await works('normal', 1);
    expect(await statusSays('LOG_TRUNCATED')).toContain(command);
    const { code } = await cli('topics', 'reset', normal, '--partition', '0', '--reason', 'lost');
    expect(code).toBe(0);
    await works('normal', 0, 90_000);
    await statusSays('LOG_TRUNCATED', false);
  });

  it('where the topic was made again knows it by its identity, though its offsets fit', async () => {
    await restarted(async () => {
      await admin.deleteTopics({ topics: [normal] });
      const topics = [{ topic: normal, numPartitions: partitions }];
      while (!(await admin.createTopics({ topics }).catch(() => false)))
        await new Promise((resolve) => setTimeout(resolve, 200));
      await grow(normal, 2_000);
    });
    const line = await halted(`${normal}/0`, 'TOPIC_RECREATED');
    expect(line.fix).toContain(`longrein topics reset ${normal} --reason`);
    await works('high', 0);
    const listed = await cli('services', 'list');
    expect(listed.text).toMatch(/^planner +listed/m);
    expect((await cli('topics', 'reset', normal, '--reason', 'moved')).code).toBe(0);
    await works('normal', 0, 90_000);
  });
});

describe('a janitor in a process of its own', () => {
  it('deletes what every service has passed, and says what it deleted', async () => {
    const janitor = new LiveHost({
      stack: backing.stack,
      services: ['janitor'],
      env: {
        LONGREIN_PARTITIONS: String(partitions),
        LONGREIN_RETENTION_DAYS: '0',
        LONGREIN_HOUSEKEEPING_MS: '200',
      },
    });
    hosts.push(janitor);
    await janitor.ready();
    const line = await janitor.said(({ msg = '' }) => msg.startsWith('records deleted'), 60_000);
    const { topic, partition, below } = line as unknown as {
      topic: string;
      partition: number;
      below: number;
    };
    expect((await log.bounds(topic)).get(partition)?.low).toBeGreaterThanOrEqual(below);
    await works('normal', 2);
    host = await restartedWith(host);
    await works('normal', 2);
    expect((await cli('status')).text).not.toContain('JANITOR_MISSING');
  });

  async function restartedWith(before: LiveHost): Promise<LiveHost> {
    await before.kill();
    return newHost().ready();
  }
});
