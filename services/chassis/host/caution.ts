import { ablated } from '../ablation.ts';
import type { PartitionName } from '../log/port.ts';
import { beginningOf } from '../protocol/decision.ts';
import type { EventRecord } from '../protocol/event-record.ts';
import type { RecordHeader, Refused } from '../protocol/record.ts';
import type { ServiceEntry } from '../protocol/service-fold.ts';
import type { HostIdentity } from './ownership.ts';
import type { HostPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import { Probation } from './probation.ts';
import type { SessionTable } from './session-table.ts';
import type { Slot } from './slot.ts';
import { deathsMax, Evidence, keyOf, type Named, poisonOf, type Suspect } from './suspects.ts';

export type CautionParts = Readonly<{
  at: PartitionName;
  identity: Pick<HostIdentity, 'incarnation'>;
  ports: Pick<HostPorts, 'clock' | 'logger'>;
  presence: Pick<Presence, 'tracesOf' | 'announce' | 'inTurn' | 'markMs'>;
  table: Pick<SessionTable, 'get'>;
  /** What was named may be decided now. */
  settle(session: string): void;
}>;

/** So many rounds, about, until all that nobody suspects has been decided. */
const rounds = 4;
const roundMax = 256;
/** So few decisions that answer something are named one by one at once: where one of them kills, it is found sooner. */
const aloneMax = 8;
/** How often it is looked whether somebody in doubt is dead, or what is on the way has landed. */
const lookMs = 200;

/**
 * How a host goes about decisions that may kill it, after it took over from one that did not end in good order
 * (DESIGN 3.14).
 *
 * K1 All that is due at the takeover is named in the presence before it is decided, a part at a time; what comes later
 *    goes on as ever. It is over when all was decided once, or when the predecessor is heard again.
 * K2 What a dead host was deciding comes last, each by itself. What two died on alone is poison: it is not tried again.
 * K3 What somebody was deciding who may be dead or not is left until that is known.
 */
export class Caution {
  private readonly parts: CautionParts;
  /** What is to be named first, by session and service. */
  private readonly due = new Map<string, Named>();
  private named: ReadonlySet<Named> = new Set();
  /** Sessions of `named`, for every look at one. */
  private namedSessions: ReadonlySet<string> = new Set();
  /** Why the one that is named is not tried again. */
  private poison: Refused | undefined;
  private predecessors: readonly string[] = [];
  private sinceMs = 0;
  private roundSize = 1;
  /** Services that failed in a session, and of which hosts die even so. */
  private readonly mute = new Set<string>();
  /** Of `due`, those that come first and one by one. */
  private alone = new Set<Named>();
  private running = false;
  /** All that is due waits for something. */
  private isIdle = false;
  private wakeUp: (() => void) | undefined;
  /** Sessions that were there at the takeover. */
  private readonly probation = new Probation();
  /** Where another process took over last, or reading began: what stands below is not known. */
  private takenAt = 0;

  constructor(parts: CautionParts) {
    this.parts = parts;
  }

  /** An epoch was read; the services began to read at these marks. */
  saw(header: RecordHeader, offset: number, marks: ReadonlyMap<string, number>): void {
    const isOwn = header.incarnation === this.parts.identity.incarnation;
    this.takenAt = Math.max(this.takenAt, ...marks.values(), isOwn ? 0 : offset);
  }

  /** A takeover; these owned before. What is known of each session is what was read up to the own epoch. */
  begin(
    predecessors: readonly string[],
    { slots, position }: Readonly<{ slots: Iterable<Slot>; position: number }>,
    services: readonly string[],
  ): void {
    if (predecessors.length === 0 || ablated('14c')) return;
    this.predecessors = [...new Set([...this.predecessors, ...predecessors])];
    this.sinceMs = this.parts.presence.markMs();
    if (!this.isCalledFor()) return;
    this.probation.begin({ position, before: this.takenAt });
    const { answers, others } = dueIn(slots, services);
    const first = answers.map((one) => this.kept(one));
    for (const one of [...first, ...others.map((other) => this.kept(other))])
      this.due.set(keyOf(one), one);
    if (answers.length <= aloneMax) this.alone = new Set(first);
    this.roundSize = Math.min(roundMax, Math.max(1, Math.ceil(this.due.size / rounds)));
    this.isIdle = false;
    if (!this.running) void this.run();
  }

  /** The partition may be won again while a decision is being named: it stays the one that is named. */
  private kept(one: Named): Named {
    const known = this.due.get(keyOf(one));
    return known?.record === one.record ? known : one;
  }

  /** The partition is decided by somebody else now. */
  end(): void {
    this.due.clear();
    this.name([]);
    this.wakeUp?.();
  }

  /** Whether what was due at the takeover is being decided, and nothing of it has to wait for something else. */
  get hurries(): boolean {
    return this.due.size > 0 && !this.isIdle;
  }

  private name(round: readonly Named[]): ReadonlySet<Named> {
    this.named = new Set(round);
    this.namedSessions = new Set(round.map(({ session }) => session));
    return this.named;
  }

  /** Whether a decision may be made now; or why it must not be tried any more. */
  of(session: string, service: string): 'now' | 'later' | Refused {
    if (this.due.size === 0 && this.mute.size === 0) return 'now';
    const key = keyOf({ session, service });
    if (this.mute.has(key)) return 'later';
    const one = this.due.get(key);
    if (one === undefined) return 'now';
    if (this.names(session) && this.named.has(one)) return this.poison ?? 'now';
    this.wakeUp?.();
    return 'later';
  }

  /** Whether something of this session is named: it is decided by itself, with nothing that would follow from it. */
  names(session: string): boolean {
    return this.namedSessions.has(session);
  }

  /** Whether an input goes before what answers it; asked where nothing of its session is due or on the way. */
  inherited(slot: Pick<Slot, 'session' | 'seats' | 'core'>, event: EventRecord): boolean {
    return this.probation.holds(slot, event);
  }

  /** What is about to be decided, for the presence. */
  get deciding(): readonly Named[] {
    return [...this.named];
  }

  /** What may have killed others and was not decided yet, for the presence. */
  get suspects(): readonly Suspect[] {
    if (this.due.size === 0) return [];
    const evidence = this.evidence();
    if (evidence.isEmpty) return [];
    return [...this.due.values()].flatMap((one) => {
      const died = evidence.deathsOf(one);
      return died === undefined ? [] : [{ ...one, died }];
    });
  }

  private evidence(): Evidence {
    return new Evidence(this.traces());
  }

  private traces(): ReturnType<Presence['tracesOf']> {
    const { topic, partition } = this.parts.at;
    return this.parts.presence.tracesOf(`${topic}/${partition}`, this.sinceMs);
  }

  /** Not where all predecessors are heard, or ended in good order, and nothing is suspected. */
  private isCalledFor(): boolean {
    const traces = this.traces();
    if (!new Evidence(traces).isEmpty) return true;
    const known = traces.filter(({ incarnation }) => this.predecessors.includes(incarnation));
    return known.length === 0 || known.some(({ is }) => is === 'dead' || is === 'doubtful');
  }

  private async run(): Promise<void> {
    const { presence } = this.parts;
    this.running = true;
    while (this.due.size > 0) {
      await presence.inTurn(async () => {
        const round = this.next();
        this.isIdle = round.length === 0;
        await this.decide(round);
      });
      if (this.isIdle) await this.pause();
    }
    this.running = false;
    await presence.announce();
  }

  private async decide(round: readonly Named[]): Promise<void> {
    if (round.length === 0) return;
    const named = this.name(round);
    this.poison = this.poisonIn(round);
    const said = !this.isCalledFor() || (await this.parts.presence.announce());
    // Another host may have taken over meanwhile, or something else been decided there.
    if (this.named !== named) return;
    // Where nobody hears what is said, caution is in vain: then it must not cost anything.
    if (!said) return this.release();
    const free = round.filter(({ session }) => !this.isBusy(session));
    if (this.poison !== undefined) this.silence(free);
    for (const session of new Set(free.map((one) => one.session))) this.parts.settle(session);
    // What took its place meanwhile has not been decided.
    for (const one of free) if (this.due.get(keyOf(one)) === one) this.due.delete(keyOf(one));
    this.name([]);
    this.poison = undefined;
  }

  /** That it is poison is in the log already: there is nothing more to say. */
  private silence(round: readonly Named[]): void {
    for (const one of round) {
      const core = this.parts.table.get(one.session)?.seats.get(one.service)?.entry.core;
      if (core?.failed.includes(one.service) === true) this.mute.add(keyOf(one));
    }
  }

  /** All that is due may be decided as ever. */
  private release(): void {
    const all = [...this.due.values()];
    this.due.clear();
    this.name([]);
    for (const session of new Set(all.map((one) => one.session))) this.parts.settle(session);
  }

  private poisonIn([one, ...others]: readonly Named[]): Refused | undefined {
    if (one === undefined || others.length > 0) return undefined;
    const died = this.evidence().deathsOf(one) ?? [];
    if (died.length < deathsMax) return undefined;
    const poison = poisonOf(one, died);
    const { at, ports } = this.parts;
    ports.logger.error({ ...at, ...one, ...poison }, 'poison: not decided any more');
    return poison;
  }

  /** What is decided next: what nobody suspects first, the rest one by one. */
  private next(): readonly Named[] {
    if (!this.isCalledFor())
      return [...this.due.values()].filter(({ session }) => !this.isBusy(session));
    const evidence = this.evidence();
    const innocent: Named[] = [];
    let suspect: Named | undefined;
    for (const one of this.due.values()) {
      if (evidence.isDoubtful(one) || this.isBusy(one.session)) continue;
      if (evidence.deathsOf(one) !== undefined) suspect ??= one;
      else if (this.alone.has(one)) return [one];
      else if (innocent.push(one) === this.roundSize) break;
    }
    if (innocent.length > 0 || suspect === undefined) return innocent;
    return [suspect];
  }

  private isBusy(session: string): boolean {
    return (this.parts.table.get(session)?.inFlight.size ?? 0) > 0;
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.wakeUp = undefined;
        cancel();
        resolve();
      };
      const cancel = this.parts.ports.clock.after(lookMs, end);
      this.wakeUp = end;
    });
  }
}

/**
 * Calls of the service may be lost, or deliveries of it are open: something may be due there, though nobody asks. Calls of
 * others are theirs to give up: naming them for everybody made a takeover as many times longer as a host has services.
 */
const mayBeDue = (service: string, { core, outbox }: ServiceEntry): boolean =>
  Object.keys(outbox).length > 0 ||
  Object.values(core.calls).some((call) => call.service === service);

/**
 * What these services may have to decide in these sessions; what answers to something comes first. Where all is answered
 * and nothing runs, the predecessor has decided the same and lived.
 */
function dueIn(
  slots: Iterable<Slot>,
  services: readonly string[],
): Readonly<{ answers: readonly Named[]; others: readonly Named[] }> {
  const answers: Named[] = [];
  const others: Named[] = [];
  for (const { session, seats } of slots) {
    for (const [service, { known, entry }] of seats) {
      if (!known || !services.includes(service)) continue;
      const one = { session, service, record: beginningOf(entry).record };
      if (entry.causes.length > 0) answers.push(one);
      else if (mayBeDue(service, entry)) others.push(one);
    }
  }
  return { answers, others };
}
