import { type DataOf, event, type SeenEvent, text } from '../../schemas/event.ts';
import { goalLogId, keyLogId } from '../../services/chassis/protocol/ids.ts';
import { addressOf, type Delivery } from '../../services/chassis/protocol/service-logic.ts';
import { problemOfDraft } from '../../services/chassis/protocol/validate.ts';
import { intakeLogic } from '../../services/intake/decide.ts';
import { BenchSession } from './bench-session.ts';

/**
 * Goal logs and key logs of one tenant with the part of the chassis between them: decisions that land later than they
 * were made, deliveries in order per log, acknowledgements. A session is opened and ended by the test.
 */

const tenant = 'acme';

export function received(changes: Partial<DataOf<'goal.received'>> = {}): DataOf<'goal.received'> {
  const { session = 'ses_1', ...rest } = changes;
  return {
    goalId: `goal of ${session}`,
    source: '/crm',
    session,
    priority: 'normal',
    lane: 'normal',
    origin: { topic: 'longrein.goals', partition: 0, offset: 1 },
    receivedAtMs: 1_000,
    plan: 'echo',
    ...rest,
  };
}

export const goalInput = (changes: Partial<DataOf<'goal.received'>> = {}) =>
  event('goal.received', received(changes), { goal: text('Say it.') });
export const cancelInput = (reason = 'not needed') =>
  event('goal.cancel-received', { requestedBy: 'mary' }, { reason: text(reason) });

type Sent = Readonly<{ from: BenchSession; seen: SeenEvent; deliveries: readonly Delivery[] }>;

/** What a session knows of goals that come to wake its loop. */
type Watching = {
  phase: 'open' | 'closing';
  readonly waiting: string[];
  arrived: number;
  counted?: number;
};

export class IntakeWorld {
  /** Sessions whose loop goals of the key wake, those included that have ended. */
  readonly watching = new Map<string, Watching>();
  readonly logs = new Map<string, BenchSession>();
  /** Public messages in order. */
  readonly published: Extract<Delivery, { to: 'public' }>[] = [];
  /** Sessions that were opened and have not ended. */
  readonly running = new Set<string>();
  /** Sessions that were asked to stop. */
  readonly stopped = new Set<string>();
  private readonly outbox: Sent[] = [];
  private readonly inFlight = new Map<string, ReturnType<BenchSession['propose']>>();
  private readonly relayed = new Set<string>();
  private readonly cursors = new Map<string, number>();

  log(id: string): BenchSession {
    const known = this.logs.get(id);
    if (known !== undefined) return known;
    const bench = new BenchSession([{ logic: intakeLogic }], { session: id, tenant });
    this.logs.set(id, bench);
    return bench;
  }

  receive(session: string, changes: Partial<DataOf<'goal.received'>> = {}): void {
    this.input(goalLogId(session), 'goal', goalInput({ session, ...changes }));
  }

  cancel(session: string): void {
    this.input(goalLogId(session), 'cancel', cancelInput());
  }

  /** The loop of a session begins that goals of its key wake. */
  watch(session: string, key: string): void {
    if (!this.running.has(session) || this.watching.has(session)) return;
    this.watching.set(session, { phase: 'open', waiting: [], arrived: 0 });
    const data = { session, goalLog: goalLogId(session), lane: 'normal' };
    this.input(keyLog(key), `watched ${session}`, event('key.watched', data));
  }

  /** The oldest goal that came was seen by an iteration, or is given back. */
  settle(session: string, outcome: 'taken' | 'returned'): void {
    const goalLog = this.watching.get(session)?.waiting.shift();
    if (goalLog === undefined) return;
    const settled = event('goal.wake-settled', { session, outcome, task: 'watch' });
    this.input(goalLog, `wake-settled ${session}`, settled);
  }

  /** The loop has ended: what waits goes back, and so does what is on its way. */
  unwatch(session: string, key: string): void {
    const known = this.watching.get(session);
    if (known?.phase !== 'open') return;
    known.phase = 'closing';
    while (known.waiting.length > 0) this.settle(session, 'returned');
    const left = event('key.unwatched', { session, lane: 'normal' });
    this.input(keyLog(key), `unwatched ${session}`, left);
  }

  /** What the session waits for before it closes is there. */
  isQuiet(session: string): boolean {
    const { phase, waiting, arrived, counted } = this.watching.get(session) ?? quiet;
    return phase === 'closing' && waiting.length === 0 && arrived === counted;
  }

  private wake(session: string, draft: Extract<Delivery, { to: 'log' }>['event']): void {
    const known = this.watching.get(session);
    if (known === undefined || this.isQuiet(session))
      throw new Error(`${draft.type} comes to ${session}, which does not wait for it`);
    if (draft.type === 'wake.counted') known.counted = draft.data.diverted;
    else known.arrived += 1;
    if (draft.type !== 'session.woken') return;
    known.waiting.push(draft.data.goalLog);
    if (known.phase === 'closing') this.settle(session, 'returned');
  }

  /** The session of a goal came to its end. */
  end(session: string): void {
    if (!this.running.delete(session)) return;
    const status = this.stopped.has(session) ? 'cancelled' : 'completed';
    this.input(goalLogId(session), 'ended', event('session.ended', { session, status }));
  }

  /** Inputs count once per id, and not in a log that is closed. */
  private input(id: string, identity: string, draft: Parameters<BenchSession['input']>[0]): void {
    const known = `${id} ${identity}`;
    const isOpening = ['goal.received', 'key.requested'].includes(draft.type);
    if (this.relayed.has(known) || (!this.logs.has(id) && !isOpening)) return;
    this.relayed.add(known);
    if (!this.isClosed(id)) this.log(id).input(draft);
  }

  isClosed(id: string): boolean {
    return this.logs.get(id)?.events.some(({ type }) => type === 'session.closed') === true;
  }

  /** A log decides; what it decided lands later. */
  propose(id: string): void {
    const bench = this.logs.get(id);
    if (bench === undefined || this.inFlight.has(id) || this.isClosed(id)) return;
    const drafts = bench.propose('intake');
    for (const draft of drafts) {
      const problem = problemOfDraft(draft);
      if (problem !== undefined) throw new Error(problem);
    }
    if (drafts.length > 0) this.inFlight.set(id, drafts);
  }

  land(id: string): void {
    const drafts = this.inFlight.get(id);
    if (drafts === undefined) return;
    this.inFlight.delete(id);
    const bench = this.log(id);
    bench.append(drafts, 'intake');
    this.send(id, bench);
  }

  private send(id: string, bench: BenchSession): void {
    const from = this.cursors.get(id) ?? 0;
    this.cursors.set(id, bench.events.length);
    for (const seen of bench.events.slice(from)) {
      if (seen.service !== 'intake') continue;
      const deliveries = intakeLogic.deliveries?.(seen, bench.meta) ?? [];
      if (deliveries.length > 0) this.outbox.push({ from: bench, seen, deliveries });
    }
  }

  /** The oldest delivery arrives, and its log learns of it. */
  deliver(): void {
    const sent = this.outbox.shift();
    if (sent === undefined) return;
    for (const one of sent.deliveries) this.arrive(one);
    const { record, index } = sent.seen;
    const acknowledged = event('delivery.acknowledged', { record, index, destinations: ['x'] });
    if (!this.isClosed(sent.from.meta.session)) sent.from.append([acknowledged], 'intake');
    else throw new Error(`${addressOf(sent.seen)} was closed over`);
  }

  private arrive(delivery: Delivery): void {
    if (delivery.to === 'public') {
      this.published.push(delivery);
      return;
    }
    const { session, identity, event: draft } = delivery;
    const isWake = ['session.woken', 'wake.counted', 'wake.withdrawn'].includes(draft.type);
    if (draft.type === 'session.opened') this.running.add(session);
    else if (draft.type === 'session.cancel-requested') this.stopped.add(session);
    else if (isWake) this.wakeOnce(session, identity.join(' '), draft);
    else this.input(session, identity.join(' '), draft);
  }

  private wakeOnce(...[session, identity, draft]: Parameters<IntakeWorld['input']>): void {
    const known = `${session} ${identity}`;
    if (this.relayed.has(known)) return;
    this.relayed.add(known);
    this.wake(session, draft as Extract<Delivery, { to: 'log' }>['event']);
  }

  /** Everything that can happen without the outside happens. */
  drain(): void {
    for (let round = 0; round < 1_000; round++) {
      const before = this.size();
      for (const id of [...this.logs.keys()]) {
        this.propose(id);
        this.land(id);
      }
      this.deliver();
      if (this.size() === before && this.outbox.length === 0) return;
    }
    throw new Error('intake does not come to rest');
  }

  private size(): number {
    return [...this.logs.values()].reduce((sum, { events }) => sum + events.length, 0);
  }
}

const quiet: Watching = { phase: 'closing', waiting: [], arrived: 0, counted: 0 };

export const keyLog = (key: string): string => keyLogId(tenant, key);
