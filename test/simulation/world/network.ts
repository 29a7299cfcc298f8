import {
  budgetsTopic,
  keysTopic,
  poolsTopic,
  presenceTopic,
  resultsTopic,
  sessionTopic,
  sinksTopic,
  topics,
} from '../../../schemas/topics.ts';
import { LongreinError } from '../../../services/chassis/errors.ts';
import type { AppendFault } from '../../../services/chassis/log/memory/memory-network.ts';
import type { Scheduler } from '../../../services/chassis/log/memory/scheduler.ts';
import type { OutgoingRecord, PartitionName } from '../../../services/chassis/log/port.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import { type Coverage, note } from './coverage.ts';
import { type Dice, diceOf } from './dice.ts';
import { createHopeless } from './hopeless.ts';
import type { Schedule } from './schedule-shape.ts';

export const sessionTopics: readonly string[] = [
  ...['high', 'normal', 'bulk'].map(sessionTopic),
  keysTopic,
  budgetsTopic,
  poolsTopic,
];

/** All topics in which sessions live, of goals and of what is stored. */
export const logTopics: readonly string[] = [...sessionTopics, sinksTopic];

/** An append as it is sent: to a session log, or with results. */
export type Sending = Readonly<{
  at: PartitionName;
  records: readonly OutgoingRecord[];
  program: string;
}>;

const watched: ReadonlySet<string> = new Set([...logTopics, resultsTopic]);

/** Topics that programs of other people write to. */
const foreignTopics: ReadonlySet<string> = new Set(
  topics.filter((topic) => topic.writers.includes('other systems')).map((topic) => topic.name),
);

/** The name by which what is no host of ours connects. */
export const outsider = 'outside';

/** Far more than any run needs: somebody goes in circles. */
const appendsMax = 5_000;
const recordsMax = 15_000;

/** What the network and the broker do to requests: how long they take, and what becomes of them. */
export class Network {
  readonly scheduler: Scheduler;
  /** Programs whose heartbeats reach nobody. */
  readonly silent = new Set<string>();
  brokerAway = false;
  blobsAway = false;
  /** Requests to session logs, whatever became of them, and what stood in them. */
  #appends = 0;
  #records = 0;
  calm = false;
  /** Called for each append to a session log or with results, before it is sent. */
  readonly onSending: ((sending: Sending) => void)[] = [];
  /** How much later than sent a request to a session log is to arrive, beyond its latency; 0: as the dice say. */
  holdMs: (sending: Sending) => number = () => 0;
  /** Called for each request that something befalls. */
  onFault: (program: string, what: string, at: PartitionName) => void = () => undefined;
  readonly #dice: Dice;
  /** Of their own: schedules without denials draw none of them. */
  readonly #denials: Dice;
  readonly #schedule: Schedule;
  readonly #coverage: Coverage;
  readonly #isHopeless: ReturnType<typeof createHopeless>;

  constructor(schedule: Schedule, parts: { clock: VirtualClock; coverage: Coverage }) {
    this.#schedule = schedule;
    this.#coverage = parts.coverage;
    this.#dice = diceOf('network', schedule.seed);
    this.#denials = diceOf('denials', schedule.seed);
    this.#isHopeless = createHopeless(schedule.seed, schedule.hopeless ?? 0);
    this.scheduler = {
      schedule: (delayMs, run) => {
        parts.clock.after(delayMs + this.#latencyMs(), run);
      },
    };
  }

  get runaway(): boolean {
    return this.#appends > appendsMax || this.#records > recordsMax;
  }

  #latencyMs(): number {
    const { latencyMs } = this.#schedule;
    const drawn = this.#dice.fraction();
    if (drawn < 0.9) return latencyMs * (0.05 + drawn);
    return latencyMs * (drawn < 0.99 ? 1 + 50 * (drawn - 0.9) : 20);
  }

  /** A request to the blob store. */
  async blob<T>(work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => this.scheduler.schedule(0, resolve));
    if (!this.blobsAway) return work();
    throw new LongreinError('BLOBS_AWAY', 'the blob store does not answer', { retryable: true });
  }

  faultOf(at: PartitionName, records: readonly OutgoingRecord[], program: string): AppendFault {
    const { topic } = at;
    if (sessionTopics.includes(topic)) {
      this.#appends += 1;
      this.#records += records.length;
    }
    if (watched.has(topic)) for (const told of this.onSending) told({ at, records, program });
    if (foreignTopics.has(topic) || program === outsider) return 'ok';
    if (topic === presenceTopic && this.silent.has(program)) return 'lost';
    if (this.#isHopeless(at, records))
      return this.#noted('fault request refused for good', 'too-large');
    if (this.calm) return 'ok';
    if (this.brokerAway) return 'lost';
    if (this.#isDenied(at, records)) return this.#noted('fault input refused', 'refused');
    const heldMs = watched.has(topic) ? this.holdMs({ at, records, program }) : 0;
    const fault =
      heldMs > 0 ? this.#noted('fault request delayed', { delayMs: heldMs }) : this.#drawn(records);
    if (fault !== 'ok' && topic !== presenceTopic) this.onFault(program, said(fault), at);
    return fault;
  }

  #isDenied({ topic }: PartitionName, records: readonly OutgoingRecord[]): boolean {
    const { denied = 0 } = this.#schedule;
    if (denied === 0 || !(topic === resultsTopic || records.every(isInput))) return false;
    return this.#denials.chance(denied);
  }

  #drawn(records: readonly OutgoingRecord[]): AppendFault {
    const { rates } = this.#schedule;
    const dice = this.#dice;
    if (dice.chance(rates.lost)) return this.#noted('fault request lost', 'lost');
    if (dice.chance(rates.lostAck)) return this.#noted('fault acknowledgement lost', 'lost-ack');
    if (dice.chance(rates.delayed)) {
      return this.#noted('fault request delayed', { delayMs: dice.between(5, 900) });
    }
    if (dice.chance(rates.late)) {
      const timeoutMs = dice.between(5, 300);
      const delayMs = timeoutMs + dice.between(1, 4_000);
      return this.#noted('fault request late', { delayMs, timeoutMs });
    }
    if (isNumbered(records) && dice.chance(rates.refused))
      return this.#noted('fault request refused', 'refused');
    return 'ok';
  }

  #noted(name: string, fault: AppendFault): AppendFault {
    note(this.#coverage, name);
    return fault;
  }
}

const isInput = ({ headers }: OutgoingRecord): boolean => headers['lr_kind'] === 'input';

const said = (fault: Exclude<AppendFault, 'ok'>): string => {
  if (typeof fault === 'string') return `request ${fault}`;
  const late = fault.timeoutMs === undefined ? '' : ', and was given up before';
  return `request arrives ${fault.delayMs} ms later${late}`;
};

/** Whether every record is a turn or a checkpoint: what a host decides again after a refusal. */
const isNumbered = (records: readonly OutgoingRecord[]): boolean =>
  records.every(({ headers }) => ['turn', 'checkpoint'].includes(headers['lr_kind'] ?? ''));
