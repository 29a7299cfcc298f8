import { type Draft, event, type SeenEvent, text } from '../../schemas/event.ts';
import {
  goalsTopic,
  partitionsOf,
  sessionTopic,
  sinksTopic,
  topicConfig,
  topics,
} from '../../schemas/topics.ts';
import { createMemoryBlobs } from '../../services/chassis/content/blobs.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import { Host } from '../../services/chassis/host/host.ts';
import type { HostedService } from '../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import {
  MemoryCluster,
  type MemoryFaults,
} from '../../services/chassis/log/memory/memory-cluster.ts';
import type { MemoryLog } from '../../services/chassis/log/memory/memory-log.ts';
import { partitionOf } from '../../services/chassis/log/partition.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { headersOf, type InputBody } from '../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';
import type { AnyLogic, ServiceLogic } from '../../services/chassis/protocol/service-logic.ts';
import type { EventTable } from '../../services/event-store/clickhouse.ts';
import { createEventStore, type EventStore } from '../../services/event-store/event-store.ts';
import type { EventRow } from '../../services/event-store/row.ts';
import { storedTopics } from '../../services/event-store/stored-topics.ts';
import { keepingLogger, quietPorts } from './quiet-ports.ts';
import { VirtualClock } from './virtual-clock.ts';

/**
 * A cluster in memory, a table that keeps what it is given, and hosts with and without an event
 * store.
 */

export const partitions = 2;
export const sessionsTopic = sessionTopic('normal');

export type Insert = Readonly<{ token: string; rows: readonly EventRow[]; from: string }>;

/** Like the database: the same token again is dropped. Every attempt is kept for assertions. */
export class FakeTable {
  readonly attempts: Insert[] = [];
  readonly stored = new Map<string, readonly EventRow[]>();
  /** What becomes of an insert; default: stored after 5 ms. */
  behaviour: (insert: Insert) => 'store' | 'hang' | 'away' | 'store-and-hang' = () => 'store';
  private readonly clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  of(from: string): EventTable {
    return {
      insertBatch: (rows, token) => this.insert({ rows, token, from }),
      restoreLost: async () => 0,
    };
  }

  get rows(): readonly EventRow[] {
    return [...this.stored.values()].flat();
  }

  private async insert(insert: Insert): Promise<void> {
    this.attempts.push(insert);
    const fate = this.behaviour(insert);
    if (fate === 'hang') return new Promise(() => undefined);
    await new Promise<void>((resolve) => {
      this.clock.after(5, resolve);
    });
    if (fate === 'away')
      throw new LongreinError('EVENT_STORE_UNREACHABLE', 'away', { retryable: true });
    if (!this.stored.has(insert.token)) this.stored.set(insert.token, insert.rows);
    if (fate === 'store-and-hang') return new Promise(() => undefined);
  }
}

type RunnerState = Readonly<{ call: string; claimed: boolean; done: boolean }>;

/** opening -> claim -> outcome -> closed. */
const runner: ServiceLogic<RunnerState> = {
  name: 'runner',
  behaviour: 1,
  fold: 1,
  machines: {},
  initial: () => ({ call: '', claimed: false, done: false }),
  evolve(state, seen) {
    if (seen.type === 'session.opened') return { ...state, call: `call-${seen.data.goalId}` };
    if (seen.type === 'tool.claimed') return { ...state, claimed: true };
    if (seen.type === 'tool.completed') return { ...state, done: true };
    return state;
  },
  answers: ({ type }) => type === 'session.opened' || type === 'tool.completed',
  decide(state, { nowMs }) {
    if (state.done) return [event('session.closed', {})];
    if (state.call === '' || state.claimed) return [];
    const claim = { call: state.call, tool: 'count', attempt: 1, deadlineAtMs: nowMs + 60_000 };
    return [event('tool.claimed', claim), event('timer.set', { timer: 't', dueAtMs: nowMs + 1 })];
  },
};

function hostedRunner(): HostedService {
  const outcome = (claim: SeenEvent): Draft<'tool.completed'> => {
    const { call, attempt } = (claim as SeenEvent<'tool.claimed'>).data;
    const data = { call, claim: '', attempt, tool: 'count', durationMs: 3 };
    return event('tool.completed', data, { result: text('x'.repeat(40_000)) });
  };
  return {
    logic: runner as unknown as AnyLogic,
    topics: [sessionsTopic],
    effects: {
      mayRun: () => true,
      jobOf: (claim) => ({
        call: (claim as SeenEvent<'tool.claimed'>).data.call,
        deadlineAtMs: (claim as SeenEvent<'tool.claimed'>).data.deadlineAtMs,
        notStarted: () => outcome(claim),
        run: async () => outcome(claim),
      }),
    },
  };
}

export type Program = Readonly<{
  host: Host;
  log: MemoryLog;
  lines: ReturnType<typeof keepingLogger>['lines'];
  store: EventStore | undefined;
}>;

export class EventStoreWorld {
  readonly clock = new VirtualClock();
  readonly cluster: MemoryCluster;
  readonly table = new FakeTable(this.clock);
  private readonly blobs = createMemoryBlobs();
  private seed = 1;

  private constructor(faults: MemoryFaults) {
    const { clock } = this;
    this.cluster = new MemoryCluster({ scheduler: clock, nowMs: () => clock.nowMs(), faults });
  }

  static async create(faults: MemoryFaults = {}): Promise<EventStoreWorld> {
    const world = new EventStoreWorld(faults);
    const specs = topics.map((one) => ({
      name: one.name,
      partitions: partitionsOf(one, partitions),
      config: topicConfig(one, 1_048_576),
    }));
    await world.settled(world.cluster.connect('setup').ensureTopics(specs));
    return world;
  }

  /** A promise that needs virtual time. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    let done = false;
    const ended = promise.finally(() => {
      done = true;
    });
    ended.catch(() => undefined);
    await this.clock.run(60_000, () => done);
    return ended;
  }

  /** A host with an event store, or with the small service `runner`. */
  async start(
    name: string,
    what: 'event-store' | 'runner',
    prepare = async () => {},
  ): Promise<Program> {
    const log = this.cluster.connect(name);
    const logger = keepingLogger();
    this.seed += 1;
    const ports = quietPorts(log, this.clock, { seed: this.seed, logger, blobs: this.blobs });
    const onFatal = (error: LongreinError): never => {
      throw error;
    };
    const table = this.table.of(name);
    const store =
      what === 'runner' ? undefined : createEventStore({ ports, table, prepare, onFatal });
    const services = [store ?? hostedRunner()];
    const options = { name, release: '0.0.0-test', services, ports, housekeepingMs: 1_000 };
    const host = new Host({ ...options, onFatal });
    store?.attach(host);
    await this.settled(host.start([]));
    if (store !== undefined) await this.settled(store.start());
    await this.clock.run(20_000, () => host.ready);
    return { host, log, lines: logger.lines, store };
  }

  /** Opens a session of the runner. */
  open(goalId: string): void {
    const session = `ses_${goalId}`;
    const data = { goalId, source: '', priority: 'normal', lane: 'normal' } as const;
    const draft = event(
      'session.opened',
      { ...data, goalLog: 'goal_x', openedAtMs: 1 },
      { goal: text('count') },
    );
    const body: InputBody = {
      kind: 'input',
      session,
      source: 'intake',
      atMs: this.clock.nowMs(),
      tenant: 'acme',
      principal: 'mary',
      labels: { team: 'red' },
      event: sealEvent(saltOf(session), draft),
    };
    const id = `inp_${goalId}`;
    const headers = headersOf(id, body, { batch: id, batchIndex: 0, traceparent: '' });
    this.append(sessionsTopic, {
      key: session,
      headers,
      value: createFixedCodec().encode('input', body),
    });
  }

  /** A goal as another system writes it. */
  publishGoal(id: string): void {
    const value = Buffer.from(JSON.stringify({ id, goal: 'count', tenant: 'acme' }));
    this.append(goalsTopic, { key: id, headers: {}, value });
  }

  append(topic: string, record: Pick<LogRecord, 'key' | 'headers' | 'value'>): void {
    const partition = partitionOf(record.key, partitions);
    this.cluster
      .connect('outside')
      .append({ topic, partition }, [record])
      .catch(() => undefined);
  }

  /** All records that must be stored, as `topic/partition@offset`. */
  get records(): readonly string[] {
    return storedTopics.flatMap(({ name: topic }) =>
      Array.from({ length: partitions }, (_, partition) => ({ topic, partition })).flatMap((at) =>
        this.cluster.records(at).map(({ offset }) => `${topic}/${at.partition}@${offset}`),
      ),
    );
  }

  /** All records that are stored, once for each row with index 0. */
  get storedRecords(): readonly string[] {
    return this.table.rows
      .filter(({ index }) => index === 0)
      .map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`);
  }

  /** Lets what was appended arrive, then runs until all is stored, at most a minute. */
  async storeAll(): Promise<void> {
    await this.clock.run(300);
    await this.clock.run(60_000, () => this.allStored);
  }

  get allStored(): boolean {
    return this.storedRecords.length === this.records.length;
  }

  /** Ranges as fixed in the logs of ranges, effective or not: `topic/partition from-to`. */
  get fixedRanges(): readonly { call: string; from: number; to: number; attempt: number }[] {
    const all = Array.from({ length: partitions }, (_, partition) =>
      this.cluster.records({ topic: sinksTopic, partition }),
    ).flat();
    return all.flatMap(({ headers, value }) => {
      if (headers.lr_types !== 'range.fixed' || value === null) return [];
      const { events } = createFixedCodec().decode(value).body as {
        events: { data: { call: string; from: number; to: number; attempt: number } }[];
      };
      return events.map(({ data }) => data);
    });
  }
}
