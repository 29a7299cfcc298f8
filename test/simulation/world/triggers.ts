import type { JsonObject } from '../../../schemas/json.ts';
import { resultsTopic } from '../../../schemas/topics.ts';
import type { OutgoingRecord } from '../../../services/chassis/log/port.ts';
import { sessionId } from '../../../services/chassis/protocol/ids.ts';
import { cancelValue } from './goals.ts';
import type { Sending } from './network.ts';
import type { SimulatedWorld } from './world.ts';

const outcomes = /^(tool|model)\.(completed|failed)$/;
const failures = /^(tool|model)\.failed$/;
/** The tool of the catalog that writes and must not be repeated. */
const atMostOnce = 'test.count';
/** Inputs that are no delivery of a session to another log. */
const ownInputs = /^(tool|model|timer|range|sink|goal\.received)/;

const typesOf = ({ headers }: OutgoingRecord): readonly string[] =>
  (headers['lr_types'] ?? '').split(',');
const isInput = ({ headers }: OutgoingRecord): boolean => headers['lr_kind'] === 'input';

function isDelivery({ at, records }: Sending): boolean {
  if (at.topic === resultsTopic) return true;
  return records.some((one) => isInput(one) && !ownInputs.test(typesOf(one)[0] ?? ''));
}

/** Long enough for a cancel to get from the goals topic to the session, and to be answered. */
const heldMs = 400;
/** Of two held requests the later one arrives later, whatever their latencies. */
const apartMs = 30;

const sessionOf = (goalId: string): string => sessionId('default', 'world', goalId);

/** What happens in the moment in which something else is on its way: races that dice alone would rarely hit. */
export class Triggers {
  readonly #world: SimulatedWorld;
  readonly #appending = new Map<string, { left: number; afterMs: number }>();
  /** What is to happen to the host that starts an effect; false: not to this one. */
  #running: ((host: string) => boolean)[] = [];
  /** What happens when somebody says that nobody knows how a call ended: whoever ran it may answer after all. */
  #unknown: (() => void)[] = [];
  readonly #delivering = new Map<string, number>();
  /** Goals by session: cancelled with the next answer; told everything again after the end. */
  readonly #racing = new Map<string, { goalId: string; awaited: RegExp }>();
  readonly #ending = new Map<string, { goalId: string; value: JsonObject }>();

  /** Goals by session, to be cancelled while the rejection of their plan is on its way; and when it arrives. */
  readonly #rejected = new Map<string, string>();
  readonly #arriving = new Map<string, number>();

  constructor(world: SimulatedWorld) {
    this.#world = world;
    world.network.onSending.push((sending) => this.#sent(sending));
    world.network.holdMs = (sending) => this.#heldMs(sending);
    world.onEffect = (host, name) => {
      if (name === atMostOnce && this.#running[0]?.(host) === true) this.#running.shift();
    };
  }

  /** Only what happens after an end goes on in the calm: it is no fault of ours. */
  calm(): void {
    this.#appending.clear();
    this.#delivering.clear();
    this.#racing.clear();
    this.#rejected.clear();
    this.#running = [];
  }

  atUnknown(then: () => void): void {
    this.#unknown.push(then);
  }

  atEffect(then: (host: string) => boolean): void {
    this.#running.push(then);
  }

  dieAppending(program: string, after: { left: number; afterMs: number }): void {
    this.#appending.set(program, after);
  }

  dieDelivering(program: string, afterMs: number): void {
    this.#delivering.set(program, afterMs);
  }

  race(goalId: string, failed: boolean): void {
    this.#racing.set(sessionOf(goalId), { goalId, awaited: failed ? failures : outcomes });
  }

  cancelRejected(goalId: string): void {
    this.#rejected.set(sessionOf(goalId), goalId);
  }

  afterEnd(goalId: string, value: JsonObject): void {
    this.#ending.set(sessionOf(goalId), { goalId, value });
  }

  #sent(sending: Sending): void {
    this.#countDown(sending.program);
    const afterMs = this.#delivering.get(sending.program);
    if (afterMs !== undefined && isDelivery(sending)) {
      this.#delivering.delete(sending.program);
      this.#crash(sending.program, 'fault crash while delivering', afterMs);
    }
    for (const record of sending.records) this.#look(record);
  }

  /**
   * The rejection arrives after the cancel that it does not know, and before the answer to the cancel. Where one host
   * writes the rejection with what it sets off, nothing can come between them.
   */
  #heldMs({ records }: Sending): number {
    const nowMs = this.#world.clock.nowMs();
    for (const record of records) {
      const session = record.headers['ce_subject'] ?? '';
      const types = typesOf(record);
      const atMs = this.#arriving.get(session);
      if (atMs !== undefined && types.includes('session.cancelled'))
        return Math.max(0, atMs - nowMs) + apartMs;
      const goalId = this.#rejected.get(session);
      if (goalId === undefined || !types.includes('plan.rejected')) continue;
      this.#rejected.delete(session);
      if (records.some((one) => typesOf(one).includes('session.failed'))) return 0;
      this.#arriving.set(session, nowMs + heldMs);
      this.#world.note('fault cancel races a rejection');
      this.#world.publish(goalId, cancelValue(goalId));
      return heldMs;
    }
    return 0;
  }

  #countDown(program: string): void {
    const doom = this.#appending.get(program);
    if (doom === undefined) return;
    doom.left -= 1;
    if (doom.left > 0) return;
    this.#appending.delete(program);
    this.#crash(program, 'fault crash while appending', doom.afterMs);
  }

  #crash(program: string, name: string, afterMs: number): void {
    const victim = this.#world.hosts.find((host) => host.name === program);
    if (victim !== undefined)
      this.#world.clock.after(afterMs, () => this.#world.kill(victim, name));
  }

  #look(record: OutgoingRecord): void {
    const session = record.headers['ce_subject'] ?? '';
    const types = typesOf(record);
    if (types.includes('tool.unknown')) {
      for (const then of this.#unknown) this.#world.clock.after(2, then);
      this.#unknown = [];
    }
    const racing = this.#racing.get(session);
    if (racing !== undefined && isInput(record) && racing.awaited.test(types[0] ?? '')) {
      this.#racing.delete(session);
      this.#world.note('fault cancel races an answer');
      this.#world.publish(racing.goalId, cancelValue(racing.goalId));
    }
    const ending = this.#ending.get(session);
    if (ending === undefined || !types.includes('session.closed')) return;
    this.#ending.delete(session);
    this.#tellAgain(session, ending);
  }

  #tellAgain(session: string, { goalId, value }: { goalId: string; value: JsonObject }): void {
    const { clock, logFaults } = this.#world;
    this.#world.note('fault records after the end');
    logFaults.echoSession(session, clock);
    clock.after(300, () => this.#world.publish(goalId, value));
    clock.after(700, () => this.#world.publish(goalId, cancelValue(goalId)));
  }
}
