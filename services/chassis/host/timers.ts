import { ablated } from '../ablation.ts';
import { timerFiredId } from '../protocol/ids.ts';
import type { InputBody } from '../protocol/record.ts';
import { saltOf, sealEvent } from '../protocol/seal.ts';
import type { TimerSetting } from '../protocol/session-core.ts';
import { persist } from './persistence.ts';
import type { HostPorts } from './ports.ts';
import type { Slot } from './slot.ts';
import type { DraftRecord, PartitionWriter } from './writer.ts';

type Armed = Readonly<{ setting: TimerSetting; cancel: () => void }>;

/** A session that was packed meanwhile has other objects for the same settings. */
const isSame = (one: TimerSetting | undefined, other: TimerSetting): boolean =>
  one?.record === other.record && one.index === other.index;

/**
 * Timers of one partition (DESIGN 3.10). The owner of the service that set a timer writes the input when it is due;
 * the due time is the one in the log, so a restart keeps it. The input carries the owner's epoch: what a host writes that
 * was overtaken is void, however fast its clock, and the owner fires it again.
 */
export class Timers {
  private readonly armed = new Map<string, Map<string, Armed>>();
  private readonly seen = new WeakMap<Slot, object>();
  private readonly ports: HostPorts;
  private readonly writer: Pick<PartitionWriter, 'push'>;
  private readonly incarnation: string;
  private readonly epochOf: (service: string) => number | undefined;
  private readonly slotOf: (session: string) => Slot | undefined;

  constructor(parts: {
    ports: HostPorts;
    writer: Pick<PartitionWriter, 'push'>;
    incarnation: string;
    epochOf: (service: string) => number | undefined;
    /** A session may be packed and unpacked while its timer runs. */
    slotOf: (session: string) => Slot | undefined;
  }) {
    this.ports = parts.ports;
    this.writer = parts.writer;
    this.incarnation = parts.incarnation;
    this.epochOf = parts.epochOf;
    this.slotOf = parts.slotOf;
  }

  private owns(service: string): boolean {
    return this.epochOf(service) !== undefined;
  }

  /** Brings the armed timers of a session in line with what the log says. */
  arm(slot: Slot): void {
    const { core } = slot;
    if (core === undefined) return;
    const timers = this.armed.get(slot.session);
    if (timers === undefined && Object.keys(core.timers).length === 0) return;
    if (this.seen.get(slot) === core.timers && timers !== undefined) return;
    this.seen.set(slot, core.timers);
    const { session } = slot;
    const current = timers ?? new Map<string, Armed>();
    this.armed.set(session, current);
    for (const [timer, one] of current) {
      if (isSame(core.timers[timer], one.setting) || ablated('10b')) continue;
      one.cancel();
      current.delete(timer);
    }
    for (const [timer, setting] of Object.entries(core.timers)) {
      if (current.has(timer) || !this.owns(setting.service)) continue;
      const leftMs = ablated('10a') ? 0 : setting.dueAtMs - this.ports.clock.nowMs();
      const delayMs = Math.max(0, leftMs);
      const cancel = this.ports.clock.after(delayMs, () => this.due(session, timer, setting));
      current.set(timer, { setting, cancel });
    }
  }

  /**
   * The same after ownership was won: timers of services that were not ours are armed now, and those that fell due
   * meanwhile are armed again.
   */
  rearm(slot: Slot): void {
    this.drop(slot.session);
    this.seen.delete(slot);
    if (ablated('10c')) this.forget(slot);
    this.arm(slot);
  }

  /** For a host without rule 10: what was set before counts as armed. */
  private forget({ session, core }: Slot): void {
    const settings = Object.entries(core?.timers ?? {});
    const cancel = (): void => undefined;
    this.armed.set(
      session,
      new Map(settings.map(([timer, setting]) => [timer, { setting, cancel }])),
    );
  }

  drop(session: string): void {
    for (const one of this.armed.get(session)?.values() ?? []) one.cancel();
    this.armed.delete(session);
  }

  clear(): void {
    for (const session of [...this.armed.keys()]) this.drop(session);
  }

  private due(session: string, timer: string, setting: TimerSetting): void {
    const slot = this.slotOf(session);
    if (slot !== undefined) this.fire(slot, timer, setting);
  }

  private fire(slot: Slot, timer: string, setting: TimerSetting): void {
    const { core } = slot;
    const epoch = this.epochOf(setting.service);
    const superseded = !isSame(core?.timers[timer], setting) && !ablated('10b');
    if (core === undefined || superseded || epoch === undefined) return;
    const { record, index, dueAtMs, service } = setting;
    const nowMs = this.ports.clock.nowMs();
    const body: InputBody = {
      kind: 'input',
      session: slot.session,
      source: service,
      incarnation: this.incarnation,
      epoch,
      atMs: ablated('10a') ? nowMs : Math.max(dueAtMs, core.last.atMs, nowMs),
      tenant: core.meta.tenant,
      principal: core.meta.principal,
      labels: core.meta.labels,
      event: sealEvent(saltOf(slot.session), {
        type: 'timer.fired',
        data: { timer, record, index, dueAtMs },
      }),
    };
    this.push(slot, { id: timerFiredId(record, index), body, traceparent: slot.traceparent });
  }

  /** Whoever owns the service after this epoch fires it again: what is not sent by then need not be. */
  private push(slot: Slot, record: DraftRecord & { body: InputBody }): void {
    const { source, epoch } = record.body;
    const stale = (): boolean => this.epochOf(source) !== epoch;
    const fields = { session: slot.session, id: record.id };
    persist(this.ports, {
      ...{ what: 'a timer', fields, wanted: () => !stale() },
      push: ({ appended, refused }) =>
        this.writer.push({ records: [record], stale, onAppended: appended, onRefused: refused }),
      onHopeless: ({ message }) =>
        this.ports.logger.error({ ...fields, error: message }, 'timer refused for good'),
    });
  }
}
