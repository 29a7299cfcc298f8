import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { goalsTopic } from '../../schemas/topics.ts';
import { type Dice, diceOf } from '../simulation/world/dice.ts';

export type StormGoal = Readonly<{ id: string; plan: string; key?: string; cancelled: boolean }>;

export type StormOptions = Readonly<{
  brokers: readonly string[];
  seed: number;
  perSecond: number;
}>;

const waitMsMax = 400;
const keys = 4;

/** A steady load of goals: most follow a plan of many calls, some have a key, some are repeated, cancelled, or senseless. */
export class GoalStorm {
  readonly goals = new Map<string, StormGoal>();
  repeated = 0;
  private readonly producer: Producer;
  private readonly dice: Dice;
  private readonly options: StormOptions;
  private readonly sending = new Set<Promise<void>>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private ticking: NodeJS.Timeout | undefined;

  private constructor(options: StormOptions, producer: Producer) {
    this.options = options;
    this.producer = producer;
    this.dice = diceOf(options.seed, 'goals');
  }

  static async open(options: StormOptions): Promise<GoalStorm> {
    const kafka = new Kafka({
      clientId: 'torture-storm',
      brokers: [...options.brokers],
      logLevel: logLevel.NOTHING,
      retry: { retries: 10, maxRetryTime: 2_000 },
    });
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    return new GoalStorm(options, producer);
  }

  start(): void {
    this.ticking = setInterval(() => this.next(), 1_000 / this.options.perSecond);
  }

  /** No new goals; what is to be repeated or cancelled still is. */
  async stop(): Promise<void> {
    clearInterval(this.ticking);
    while (this.timers.size > 0 || this.sending.size > 0) {
      await Promise.all(this.sending);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async close(): Promise<void> {
    clearInterval(this.ticking);
    for (const timer of this.timers) clearTimeout(timer);
    await this.producer.disconnect();
  }

  /** Hands in a goal now. */
  submit(id: string, fields: Readonly<Record<string, unknown>>): void {
    this.goals.set(id, { id, plan: String(fields['plan']), cancelled: false });
    this.send({ id, goal: 'of the torture', ...fields });
  }

  private next(): void {
    const { dice } = this;
    const id = `goal-${this.options.seed}-${this.goals.size + 1}`;
    const plan = dice.chance(0.05) ? 'nowhere' : dice.pick(['storm', 'storm', 'storm', 'brief']);
    const priority = dice.pick(['normal', 'normal', 'normal', 'high', 'bulk']);
    const key = dice.chance(0.25) ? { key: `key-${dice.between(1, keys)}` } : {};
    const waitMs = dice.between(0, waitMsMax);
    const inputs = plan === 'nowhere' ? {} : { inputs: { waitMs } };
    const cancelled = dice.chance(0.1);
    const goal = { id, goal: 'of the torture', plan, priority, ...key, ...inputs };
    this.goals.set(id, { id, plan, cancelled, ...key });
    this.send(goal);
    if (cancelled) this.later(dice.between(0, 3_000), () => this.send({ cancel: id }));
    if (dice.chance(0.15)) this.repeat(goal);
  }

  private repeat(goal: object): void {
    const { dice } = this;
    this.repeated += 1;
    // A repeat may ask for another lane: it follows the first all the same.
    const again = dice.chance(0.3) ? { ...goal, priority: 'high' } : goal;
    this.later(dice.between(0, 15_000), () => this.send(again));
  }

  private later(delayMs: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, delayMs);
    this.timers.add(timer);
  }

  /** Whoever hands in goals tries until the broker has them; a repeat does no harm. */
  private send(value: object): void {
    const id = String((value as { id?: string }).id ?? (value as { cancel?: string }).cancel);
    const attempt = async (): Promise<void> => {
      for (;;) {
        try {
          const messages = [{ key: id, value: JSON.stringify(value) }];
          await this.producer.send({ topic: goalsTopic, messages });
          return;
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
      }
    };
    const sent = attempt().finally(() => this.sending.delete(sent));
    this.sending.add(sent);
  }
}
