import type { JsonObject } from '../../../schemas/json.ts';
import { approvalsTopic, goalsTopic } from '../../../schemas/topics.ts';
import type { MemoryLog } from '../../../services/chassis/log/memory/memory-log.ts';
import { partitionOf } from '../../../services/chassis/log/partition.ts';
import { bodyOfRecord } from '../../../services/client/record-body.ts';
import { type Dice, diceOf } from './dice.ts';
import { askingPlan, cancelValue, healingPlan } from './goals.ts';
import { outsider } from './network.ts';
import type { Schedule } from './schedule-shape.ts';
import type { SimulatedWorld } from './world.ts';

type Request = Readonly<{ session: string; approval: string; state: string }>;

const asking: ReadonlySet<string> = new Set([askingPlan, healingPlan]);
const lookMs = 40;
const decisions = ['granted', 'granted', 'denied', 'answered'] as const;
const answers = ['go', 'wait', 'never'] as const;

/**
 * The people of a run: they see on longrein.approvals what is asked and answer at times of their own, in time or late,
 * once or twice, beside a cancel, and to questions that nobody asked. What they do follows from seed and question.
 */
export class Operator {
  readonly #world: SimulatedWorld;
  readonly #schedule: Schedule;
  readonly #log: MemoryLog;
  readonly #seen = new Set<string>();
  readonly #read = new Map<number, number>();

  constructor(world: SimulatedWorld, schedule: Schedule) {
    this.#world = world;
    this.#schedule = schedule;
    this.#log = world.cluster.connect(outsider);
  }

  /** Looks on from now on, in runs whose agents ask; in others nobody is there. */
  start(): void {
    const asks = this.#schedule.actions.some(
      (one) => one.do === 'send' && asking.has(String(one.value['plan'])),
    );
    if (asks) this.#look();
  }

  #look(): void {
    for (const [partition, records] of this.#world.recordsOf(approvalsTopic).entries()) {
      for (const record of records.slice(this.#read.get(partition) ?? 0)) {
        if (record.headers['ce_type'] !== 'longrein.approval-request.v1') continue;
        this.#take(bodyOfRecord(record) as Request);
      }
      this.#read.set(partition, records.length);
    }
    this.#world.clock.after(lookMs, () => this.#look());
  }

  #take({ session, approval, state }: Request): void {
    if (state !== 'open' || this.#seen.has(approval)) return;
    this.#seen.add(approval);
    const dice = diceOf('operator', this.#schedule.seed, approval);
    const firstMs = dice.pick([dice.between(1, 400), dice.between(400, 5_000)]);
    if (dice.chance(0.75)) this.#answer(dice, { session, approval }, firstMs);
    if (dice.chance(0.35)) this.#again(dice, { session, approval }, firstMs);
    if (dice.chance(0.15)) this.#answer(dice, { session, approval: `${approval}-none` }, firstMs);
    if (dice.chance(0.2)) this.#cancel(dice, { session, approval }, firstMs);
  }

  /** Twice at about the same time, or long after. */
  #again(dice: Dice, of: Omit<Request, 'state'>, firstMs: number): void {
    this.#answer(dice, of, firstMs + dice.pick([0, dice.between(1, 30), dice.between(500, 4_000)]));
    this.#world.note('question answered twice');
  }

  /** Just before an answer, with it or after it. */
  #cancel(dice: Dice, of: Omit<Request, 'state'>, firstMs: number): void {
    const atMs = Math.max(1, firstMs + dice.pick([-20, -1, 0, 1, 20]));
    this.#world.note('cancel races an answer of a person');
    this.#answer(dice, of, firstMs);
    const value = cancelValue(of.session);
    this.#later(atMs, () => this.#send(goalsTopic, of.session, value, {}));
  }

  #answer(dice: Dice, { session, approval }: Omit<Request, 'state'>, afterMs: number): void {
    const decision = dice.pick(decisions);
    const by = `person-${dice.between(1, 3)}`;
    const said = decision === 'answered' ? { answer: dice.pick(answers) } : {};
    const value = { session, approval, decision, decidedBy: by, ...said };
    const headers = dice.chance(0.5) ? { ce_id: `${approval}/${dice.between(1, 9)}` } : {};
    this.#later(afterMs, () => this.#send(approvalsTopic, session, value, headers));
  }

  #later(afterMs: number, run: () => void): void {
    this.#world.clock.after(afterMs, run);
  }

  #send(
    topic: string,
    key: string,
    value: JsonObject,
    headers: Readonly<Record<string, string>>,
  ): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const partition = partitionOf(key, this.#schedule.partitions);
    const record = { key, headers, value: bytes };
    this.#log.append({ topic, partition }, [record]).catch(() => undefined);
  }
}
