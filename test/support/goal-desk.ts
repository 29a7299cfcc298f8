import { randomUUID } from 'node:crypto';
import confluent from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { deadLettersTopic, goalsTopic, resultsTopic } from '../../schemas/topics.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import type { LiveStack } from './live-stack.ts';
import { jsonOf, TopicTail } from './topic-tail.ts';

export type Result = Readonly<{
  goalId: string;
  session: string;
  status: 'completed' | 'failed' | 'cancelled' | 'rejected';
  output?: unknown;
  takenBy?: Readonly<{ session: string; task: string; iteration?: number }>;
  error?: Readonly<{ code: string; message: string; field?: string; fix?: string; task?: string }>;
  usage?: Readonly<{ costNanoUsd: number; costKnown?: false }>;
  labels?: Readonly<Record<string, string>>;
  openedAt: string;
  endedAt: string;
}>;

export type DeadLetter = Readonly<{
  reason: Readonly<{ code: string; message: string; field?: string; fix?: string }>;
  origin: Readonly<{ topic: string; partition: number; offset: number }>;
  original?: string;
  goalId?: string;
  session?: string;
}>;

export type Sent = Readonly<{ partition: number; offset: number; place: string }>;
type Sending = Readonly<{ headers?: Readonly<Record<string, string>>; key?: string }>;

const goalIdOf = (record: LogRecord): unknown => (jsonOf(record) as { goalId?: unknown }).goalId;

/** Another system: hands in goals with a Kafka client and reads results and dead letters. */
export class GoalDesk {
  private readonly stack: LiveStack;
  private readonly producer: Producer;
  private readonly tail: TopicTail;

  private constructor(stack: LiveStack, producer: Producer, tail: TopicTail) {
    this.stack = stack;
    this.producer = producer;
    this.tail = tail;
  }

  /** The topics must exist: a host has been started before. */
  static async open(stack: LiveStack): Promise<GoalDesk> {
    const kafka = new Kafka({
      clientId: 'test-desk',
      brokers: [...stack.brokers],
      logLevel: logLevel.NOTHING,
    });
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    const tail = await TopicTail.open(stack.brokers, [resultsTopic, deadLettersTopic]);
    return new GoalDesk(stack, producer, tail);
  }

  /** Bytes as they are; anything but a Buffer, a text and null as JSON. */
  async send(value: unknown, { headers = {}, key = randomUUID() }: Sending = {}): Promise<Sent> {
    const asIs = value === null || typeof value === 'string' || Buffer.isBuffer(value);
    const bytes = asIs ? (value as string | Buffer | null) : JSON.stringify(value);
    const messages = [{ key, value: bytes, headers }];
    const [answer] = await this.producer.send({ topic: goalsTopic, messages });
    const { partition = -1, baseOffset = '' } = answer ?? {};
    const place = `${goalsTopic}/${partition}/${baseOffset}`;
    return { partition, offset: Number(baseOffset), place };
  }

  /** A goal with a new id. */
  async submit(goal: object): Promise<string> {
    const id = `goal-${randomUUID()}`;
    await this.send({ id, goal: 'of a test', ...goal });
    return id;
  }

  /** A record with the headers of an input and a value that nobody can read, where the session of this id lives. */
  async spoil(topic: string, session: string): Promise<void> {
    const headers = { lr_kind: 'input', ce_id: `inp_${randomUUID()}`, ce_subject: session };
    const value = Buffer.from([0, 0, 0, 0, 2, 123]);
    await this.producer.send({ topic, messages: [{ key: session, value, headers }] });
  }

  /** In the wire format of the registry, under the newest schema of the subject. */
  async sendFramed(value: object, sending: Sending = {}): Promise<Sent> {
    const registry = new confluent.SchemaRegistry({ host: this.stack.registryUrl });
    const id = await registry.getLatestSchemaId('longrein.goal');
    return this.send(await registry.encode(id, value), sending);
  }

  /** Raw records of the results of a goal so far: more than one where a result was repeated. */
  resultRecords(goalId: string): readonly LogRecord[] {
    return this.tail.records.filter(
      (record) => record.topic === resultsTopic && goalIdOf(record) === goalId,
    );
  }

  /** Waits for the result of a goal. */
  async result(goalId: string, withinMs = 60_000): Promise<Result> {
    const at = { count: 1, withinMs, what: `result of ${goalId}` };
    const fits = (record: LogRecord): boolean =>
      record.topic === resultsTopic && goalIdOf(record) === goalId;
    const [first] = await this.tail.gather(fits, at);
    return jsonOf(first as LogRecord) as Result;
  }

  async deadLetter(goalId: string, withinMs = 30_000): Promise<DeadLetter> {
    const at = { count: 1, withinMs, what: `dead letter of ${goalId}` };
    const fits = (record: LogRecord): boolean =>
      record.topic === deadLettersTopic && goalIdOf(record) === goalId;
    const [first] = await this.tail.gather(fits, at);
    return jsonOf(first as LogRecord) as DeadLetter;
  }

  /** Dead letters so far. */
  get deadLetters(): readonly DeadLetter[] {
    return this.tail.records
      .filter((record) => record.topic === deadLettersTopic)
      .map((record) => jsonOf(record) as DeadLetter);
  }

  async close(): Promise<void> {
    await this.producer.disconnect();
    await this.tail.close();
  }
}
