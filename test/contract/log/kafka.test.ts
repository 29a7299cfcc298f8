import { createServer } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createKafkaLog } from '../../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../../services/chassis/log/port.ts';
import { describeLog } from './log-contract.ts';
import { eventually, numbered, ReadWitness, upTo } from './log-witness.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 30_000 });

function brokers(): string[] {
  const configured = process.env.LONGREIN_TEST_BROKERS;
  if (!configured) {
    throw new Error('Set LONGREIN_TEST_BROKERS=host:port of a Kafka broker to run this suite.');
  }
  return configured.split(',');
}

describeLog('kafka', () => ({
  connect: (clientId) => createKafkaLog({ brokers: brokers(), clientId }),
}));

describe('a kafka log with a broker', () => {
  const logs: LogPort[] = [];
  afterEach(async () => {
    await Promise.all(logs.splice(0).map((log) => log.close()));
  });

  function connect(addresses: string[] = brokers()): LogPort {
    const log = createKafkaLog({ brokers: addresses, clientId: 'test' });
    logs.push(log);
    return log;
  }

  async function packedBy(compression: string): Promise<{ log: LogPort; topic: string }> {
    const log = connect();
    const topic = `packed-${compression}-${process.pid}-${Date.now().toString(36)}`;
    const config = { 'compression.type': compression };
    await log.ensureTopics([{ name: topic, partitions: 1, config }]);
    await log.append({ topic, partition: 0 }, numbered(50));
    return { log, topic };
  }

  test('needs only one of its addresses', async () => {
    const log = connect(['127.0.0.1:1', ...brokers()]);
    await log.ensureTopics([{ name: `seeds-${Date.now()}`, partitions: 1, config: {} }]);
  });

  test('reads from the middle of what a broker packed with gzip', async () => {
    const { log, topic } = await packedBy('gzip');
    const witness = new ReadWitness();
    (await log.reader(witness)).assign({ topic, partition: 0 }, 20);
    await witness.count(30);
    expect(witness.offsets(0)).toEqual(upTo(30, 20));
  });

  test('names a compression that it cannot read, and what to do', async () => {
    const { log, topic } = await packedBy('lz4');
    const witness = new ReadWitness();
    (await log.reader(witness)).assign({ topic, partition: 0 }, 0);
    await eventually('the error', () => witness.errors.length === 1);
    expect(witness.errors[0]?.error).toMatchObject({ code: 'RECORDS_UNREADABLE' });
    expect(witness.errors[0]?.error).toHaveProperty('fix', expect.stringContaining('gzip'));
  });

  test('says why a topic was not created', async () => {
    const config = { 'cleanup.policy': 'nonsense' };
    const creating = connect().ensureTopics([{ name: `bad-${Date.now()}`, partitions: 1, config }]);
    await expect(creating).rejects.toMatchObject({ code: 'TOPIC_NOT_CREATED', retryable: false });
    await expect(creating).rejects.toThrow('nonsense');
  });
});

describe('a kafka log without a broker', () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  /** A port that accepts connections and says nothing, or one that nobody listens on. */
  async function deafPort(listening: boolean): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    if (listening) ends.push(() => server.close());
    else await new Promise((resolve) => server.close(resolve));
    return port;
  }

  test.each([
    ['refuses connections', false],
    ['accepts connections and never answers', true],
  ])('says in time which address %s', async (_, listening) => {
    const address = `127.0.0.1:${await deafPort(listening)}`;
    const log = createKafkaLog({ brokers: [address], clientId: 'test', connectionTimeoutMs: 500 });
    ends.push(() => void log.close());
    const since = Date.now();
    for (const attempt of [() => log.reader(new ReadWitness()), () => log.ensureTopics([])]) {
      const outcome = attempt().then(
        () => 'nothing to do',
        (error: unknown) => error,
      );
      const error = await outcome;
      if (error === 'nothing to do') continue;
      expect(error).toMatchObject({ code: 'BROKER_UNREACHABLE', retryable: true });
      expect(String(error)).toContain(address);
      expect(error).toHaveProperty('fix');
    }
    expect(Date.now() - since).toBeLessThan(9_000);
    const append = log.append({ topic: 'any', partition: 0 }, numbered(1));
    await expect(append).rejects.toMatchObject({ failure: 'uncertain' });
    await log.close();
  });

  test('refuses an address that is none', () => {
    const open = () => createKafkaLog({ brokers: ['127.0.0.1'], clientId: 'test' });
    expect(open).toThrow('"127.0.0.1" is not a Kafka broker address');
  });
});
