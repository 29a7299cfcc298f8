import {
  type Draft,
  event,
  type InputEventType,
  type SeenEvent,
  text,
} from '../../schemas/event.ts';
import { partitionsOf, sessionTopic, topicConfig, topics } from '../../schemas/topics.ts';
import { createMemoryBlobs } from '../../services/chassis/content/blobs.ts';
import { Host } from '../../services/chassis/host/host.ts';
import type { Clock, EffectJob, HostedService } from '../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import {
  MemoryCluster,
  type MemoryFaults,
} from '../../services/chassis/log/memory/memory-cluster.ts';
import type { MemoryLog } from '../../services/chassis/log/memory/memory-log.ts';
import { partitionOf } from '../../services/chassis/log/partition.ts';
import type { LogPort, LogRecord } from '../../services/chassis/log/port.ts';
import { type AcceptanceState, accept } from '../../services/chassis/protocol/acceptance.ts';
import type { EventRecord } from '../../services/chassis/protocol/event-record.ts';
import { canonical, sha256 } from '../../services/chassis/protocol/hash.ts';
import {
  type CheckpointBody,
  parseHeader,
  type RecordBody,
} from '../../services/chassis/protocol/record.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
  saveEntry,
} from '../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { completed, idleLogic } from './placed-record.ts';
import { keepingLogger, quietPorts } from './quiet-ports.ts';
import { VirtualClock } from './virtual-clock.ts';
import { inputBody, openingBody, recordOf } from './written-session.ts';

/**
 * Hosts with one small service over the memory log: it counts what it is sent and answers each once; a grant makes it
 * claim a call, a cancel makes it close the session. A ping sets its timer anew; a call that was lost becomes unknown.
 */

export const topic = sessionTopic('normal');
export const partitions = 2;

/** A session that lies in this partition. */
export const sessionIn = (partition: number): string =>
  ['ses_a', 'ses_b', 'ses_c', 'ses_d'].find((one) => partitionOf(one, partitions) === partition) ??
  '';

export const timerMs = 5_000;
export const callMs = 60_000;

export type Count = Readonly<{
  sent: number;
  answered: number;
  grants: number;
  claims: number;
  outcomes: number;
  pings: number;
  sets: number;
  fires: number;
  cancelled: boolean;
}>;

function evolve(state: Count, { type }: SeenEvent): Count {
  if (type === 'key.released') return { ...state, sent: state.sent + 1 };
  if (type === 'task.skipped') return { ...state, answered: state.answered + 1 };
  if (type === 'key.granted') return { ...state, grants: state.grants + 1 };
  if (type === 'tool.claimed') return { ...state, claims: state.claims + 1 };
  if (type === 'tool.completed') return { ...state, outcomes: state.outcomes + 1 };
  if (type === 'key.refused') return { ...state, pings: state.pings + 1 };
  if (type === 'timer.set') return { ...state, sets: state.sets + 1 };
  if (type === 'timer.fired') return { ...state, fires: state.fires + 1 };
  return type === 'session.cancel-requested' ? { ...state, cancelled: true } : state;
}

const answeredTypes: readonly string[] = [
  'key.released',
  'key.granted',
  'tool.completed',
  'session.cancel-requested',
];

/** What is refused is answered with nothing. The calls that were lost are not claimed again: tests look at what became of them. */
export const counter: AnyLogic = idleLogic<Count>({
  name: 'counter',
  initial: () => ({
    ...{ sent: 0, answered: 0, grants: 0, claims: 0, outcomes: 0 },
    ...{ pings: 0, sets: 0, fires: 0, cancelled: false },
  }),
  evolve,
  answers: ({ type }) => [...answeredTypes, 'key.refused'].includes(type),
  decide: (state, { nowMs, lost, openCalls }) => {
    const { sent, answered, grants, claims } = state;
    const drafts: Draft[] = [];
    for (let n = answered + 1; n <= sent; n++)
      drafts.push(event('task.skipped', { task: `t${n}`, because: 'counted' }));
    for (let n = claims + 1; n <= grants; n++) {
      const claim = { call: `c${n}`, tool: 'count', attempt: 1, deadlineAtMs: nowMs + callMs };
      drafts.push(event('tool.claimed', claim));
    }
    if (state.pings > state.sets)
      drafts.push(event('timer.set', { timer: 'live', dueAtMs: nowMs + timerMs }));
    for (const [call, because] of Object.entries(lost)) {
      if (openCalls[call]?.status !== 'claimed') continue;
      const data = { call, tool: 'count', attempt: 1, because };
      drafts.push(event('tool.unknown', data, { message: text('nobody saw it') }));
    }
    if (state.cancelled) drafts.push(event('session.closed', {}));
    return drafts;
  },
});

export const sent = (): Draft<'key.released'> => event('key.released', { goalLog: 'goal_x' });
export const pinged = (): Draft<'key.refused'> => event('key.refused', { keyLog: 'k', waiting: 1 });
export const granted = (): Draft<'key.granted'> => event('key.granted', { keyLog: 'key_x' });

export class CounterWorld {
  readonly clock = new VirtualClock(Date.UTC(2026, 0, 15));
  readonly cluster: MemoryCluster;
  readonly blobs = createMemoryBlobs();
  /** Calls in the order in which their effects were started. */
  readonly started: string[] = [];
  /** Calls whose effects were told to stop. */
  readonly stopped: string[] = [];
  /** How much the clocks of hosts are fast, by name. */
  readonly fastMs = new Map<string, number>();
  private readonly deaf = new Map<string, (() => void)[]>();
  effectMs = 10;
  /** What the host of this name runs. */
  servicesOf: (name: string) => readonly HostedService[] = (name) => [this.service(name)];
  /** How long after an append readers see it. Above 0 the writer's answer comes first, as it does with a real broker. */
  readDelayMs = 0;
  /** Called in each decision, with the name of its host. */
  onDecide: (host: string, session: string) => void = () => undefined;
  private readonly logs = new Map<string, MemoryLog>();
  private inputs = 0;
  private hosts = 0;
  private readonly partitions: number;

  private constructor(faults: MemoryFaults, count: number, crashNoticedMs: number) {
    const { clock } = this;
    this.partitions = count;
    const network = { scheduler: clock, nowMs: () => clock.nowMs(), faults, crashNoticedMs };
    this.cluster = new MemoryCluster(network);
  }

  static async start(
    faults: MemoryFaults = {},
    count = partitions,
    crashNoticedMs = 0,
  ): Promise<CounterWorld> {
    const world = new CounterWorld(faults, count, crashNoticedMs);
    const specs = topics.map((one) => ({
      name: one.name,
      partitions: partitionsOf(one, count),
      config: topicConfig(one, 1_048_576),
    }));
    await world.during(world.cluster.connect('setup').ensureTopics(specs));
    return world;
  }

  private service(host: string): HostedService {
    const decide: AnyLogic['decide'] = (state, input) => {
      this.onDecide(host, input.session.session);
      return counter.decide(state, input);
    };
    const jobOf = (claim: SeenEvent) => {
      const { call, deadlineAtMs } = claim.data as { call: string; deadlineAtMs: number };
      const run: EffectJob['run'] = ({ signal }) => {
        this.started.push(call);
        return new Promise((resolve) => {
          this.clock.after(this.effectMs, () => resolve(completed(call, '')));
          const stop = (): void => {
            this.stopped.push(call);
            resolve(completed(call, ''));
          };
          signal.addEventListener('abort', stop, { once: true });
        });
      };
      const notStarted = (): Draft<'tool.completed'> => completed(call, 'not started');
      return { call, deadlineAtMs, run, notStarted };
    };
    const mayRun = (state: unknown): boolean => !(state as Count).cancelled;
    return { logic: { ...counter, decide }, topics: [topic], effects: { jobOf, mayRun } };
  }

  /** Starts a host and lets it own what its group gives it. */
  async startHost(
    name: string,
    housekeepingMs = 1_000,
    change: (log: LogPort) => LogPort = (log) => log,
  ) {
    const log = this.cluster.connect(name);
    this.logs.set(name, log);
    const logger = keepingLogger();
    this.hosts += 1;
    const host = new Host({
      name,
      release: '0.0.0-test',
      services: this.servicesOf(name),
      ports: quietPorts(change(this.delayed(log)), this.clockOf(name), {
        seed: this.hosts,
        logger,
        blobs: this.blobs,
      }),
      housekeepingMs,
      onFatal: (error) => {
        throw error;
      },
    });
    await this.during(host.start([]));
    await this.clock.run(10_000, () => host.ready);
    return { host, log, logger };
  }

  /** Its process dies: nothing of it reaches anybody any more, and it learns nothing. */
  crash(name: string): void {
    this.deafen(name);
    this.logs.get(name)?.crash();
  }

  private clockOf(name: string): Clock {
    const { clock } = this;
    return {
      nowMs: () => clock.nowMs() + (this.fastMs.get(name) ?? 0),
      after: (delayMs, run) => clock.after(delayMs, run),
    };
  }

  /** From now on a host learns nothing: neither what is appended, nor what its group says. It goes on writing. */
  deafen(name: string): void {
    this.deaf.set(name, []);
  }

  /** It learns all at once. */
  wake(name: string): void {
    const missed = this.deaf.get(name) ?? [];
    this.deaf.delete(name);
    for (const hear of missed) hear();
  }

  private tell(name: string, hear: () => void): void {
    const missed = this.deaf.get(name);
    if (missed === undefined) hear();
    else missed.push(hear);
  }

  private delayed(log: MemoryLog): LogPort {
    const reader: LogPort['reader'] = (handlers) =>
      log.reader({
        ...handlers,
        onRecords: (at, records) => {
          const hear = (): void => this.tell(log.name, () => handlers.onRecords(at, records));
          if (this.readDelayMs === 0) hear();
          else this.clock.after(this.readDelayMs, hear);
        },
      });
    const join: LogPort['join'] = (group, names, handlers) =>
      log.join(group, names, {
        ...handlers,
        onAssignment: (all) => this.tell(log.name, () => handlers.onAssignment(all)),
      });
    return {
      append: (at, records) => log.append(at, records),
      join,
      bounds: (name) => log.bounds(name),
      topicId: (name) => log.topicId(name),
      offsetAt: (at, timestampMs) => log.offsetAt(at, timestampMs),
      ensureTopics: (specs) => log.ensureTopics(specs),
      trim: (at, offset) => log.trim(at, offset),
      close: () => log.close(),
      reader,
    };
  }

  /** Opens a session, again where it was opened before. */
  open(session: string): void {
    this.write(session, `inp_open_${session}`, openingBody(session));
  }

  /** One input from outside. */
  send(session: string, draft: Draft<InputEventType>): void {
    this.inputs += 1;
    this.write(session, `inp_${this.inputs}`, inputBody(session, draft));
  }

  private write(session: string, id: string, body: RecordBody): void {
    const at = { topic, partition: partitionOf(session, this.partitions) };
    const atMs = { ...body, atMs: this.clock.nowMs() };
    this.cluster.write(at, [recordOf(id, atMs as RecordBody, createFixedCodec())]);
  }

  records(session: string): readonly LogRecord[] {
    return this.cluster.records({ topic, partition: partitionOf(session, this.partitions) });
  }

  /** Event types of a session in order, with the kind of what carries no events. */
  typesOf(session: string): string[] {
    return this.records(session)
      .filter(({ headers }) => headers['ce_subject'] === session)
      .flatMap(({ headers }) => (headers['lr_types'] ?? headers['lr_kind'] ?? '').split(','));
  }

  checkpointsOf(session: string): (CheckpointBody & { offset: number })[] {
    return this.records(session).flatMap((record) => {
      const { kind, ...rest } = this.bodyOf(record) as CheckpointBody;
      const own = kind === 'checkpoint' && rest.session === session;
      return own ? [{ kind, ...rest, offset: record.offset }] : [];
    });
  }

  /** Events of this type that the service wrote in a session, whether they count or not. */
  eventsOf(session: string, type: string): readonly EventRecord[] {
    return this.records(session).flatMap((record) => {
      const body = this.bodyOf(record);
      if (body.kind !== 'turn' || body.session !== session) return [];
      return body.events.filter((one) => one.type === type);
    });
  }

  private bodyOf({ value }: LogRecord): RecordBody {
    return createFixedCodec().decode(value ?? new Uint8Array()).body as RecordBody;
  }

  /** What a reader of the whole log says: the hash of the service's entry up to this offset. */
  stateHash(session: string, upTo = Number.POSITIVE_INFINITY): string {
    return sha256(canonical(saveEntry(this.entry(session, upTo))));
  }

  /** The service's entry, as a reader of the whole log folds it up to this offset. */
  entry(session: string, upTo = Number.POSITIVE_INFINITY): ServiceEntry {
    const acceptance: AcceptanceState = {};
    let entry = newEntry(counter, session);
    for (const record of this.records(session)) {
      const header = parseHeader(record.headers);
      if (header === undefined || !accept(acceptance, header)) continue;
      if (header.session !== session || record.offset > upTo) continue;
      const body = this.bodyOf(record);
      entry = foldEntry(counter, entry, { record: { offset: record.offset, header, body } });
    }
    return entry;
  }

  /** What the service counted, by all that is effective. */
  countOf(session: string): Count {
    return this.entry(session).state as Count;
  }

  /** Lets the world go on until something that needs it has settled. */
  async during<T>(pending: Promise<T>): Promise<T> {
    let isSettled = false;
    const done = pending.finally(() => {
      isSettled = true;
    });
    done.catch(() => undefined);
    for (let round = 0; !isSettled && round < 10_000; round++)
      await this.clock.run(5, () => isSettled);
    return done;
  }
}
