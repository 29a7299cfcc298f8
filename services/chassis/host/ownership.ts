import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { PartitionName } from '../log/port.ts';
import { type AcceptanceState, nextEpochNumber } from '../protocol/acceptance.ts';
import type { EpochBody, RecordHeader } from '../protocol/record.ts';
import { recordHash } from '../protocol/seal.ts';
import type { HostPorts } from './ports.ts';
import type { ListedEpoch, Presence } from './presence.ts';
import type { PartitionWriter } from './writer.ts';

export type HostIdentity = Readonly<{ incarnation: string; host: string; release: string }>;

/** Who holds a service that is ours to serve, and what has to pass before it counts as gone. */
type Owner = Readonly<{ epoch: ListedEpoch; sinceMs: number; waitMs: number }>;

/** So many owners of a service are remembered. */
const ownersKept = 4;

/** The longest wait between two requests that the broker refuses. */
const refusedWaitMsMax = 60_000;

/** So many new epochs for refused numbers are asked for at once; the next ones wait, until none was needed for a while. */
const renewalsAtOnce = 3;
const renewalWaitMsMax = 8_000;
const renewalsForgottenMs = 30_000;

/**
 * Which services of a partition this host may act for (DESIGN 3.1). It acts only after it has read its own epoch as the
 * current one. When it is superseded it stands by, and asks again only when the owner does not list its epoch any more:
 * T after this host read that epoch, or after it was listed last; 3 T where the owner is of another group.
 */
export class Ownership {
  /** Service -> number of the epoch that this host owns. */
  private readonly owned = new Map<string, number>();
  /** Service -> its owner, where that is another instance. */
  private readonly owners = new Map<string, Owner>();
  /** Service -> incarnations of its newest epochs, as far as they were read, newest first. */
  private readonly newest = new Map<string, readonly string[]>();
  /** Other incarnations that owned before what was won last: the last ones may have had no time to decide anything. */
  predecessors: readonly string[] = [];
  private asked: number | undefined;
  private assigned = false;
  private refusals = 0;
  private renewals = 0;
  private renewedAtMs = Number.NEGATIVE_INFINITY;
  private cancelRetry: (() => void) | undefined;

  private readonly at: PartitionName;
  private readonly services: readonly string[];
  private readonly identity: HostIdentity;
  private readonly parts: Readonly<{
    ports: HostPorts;
    presence: Presence;
    writer: PartitionWriter;
  }>;

  constructor(
    at: PartitionName,
    who: { services: readonly string[]; identity: HostIdentity },
    parts: { ports: HostPorts; presence: Presence; writer: PartitionWriter },
  ) {
    this.at = at;
    this.services = who.services;
    this.identity = who.identity;
    this.parts = parts;
  }

  epochOf(service: string): number | undefined {
    return this.owned.get(service);
  }

  owns(service: string): boolean {
    return this.owned.has(service);
  }

  /** Whether this service works here, and is not owned yet. */
  lacks(service: string): boolean {
    return this.services.includes(service) && !this.owned.has(service);
  }

  /** Whether a turn is of an epoch that this host acts under. */
  wrote({ kind, service, epoch, incarnation }: RecordHeader): boolean {
    if (kind !== 'turn' || incarnation !== this.identity.incarnation) return false;
    return this.owned.get(service) === epoch;
  }

  get epochs(): ReadonlyMap<string, number> {
    return this.owned;
  }

  /** The group gave us the partition, and all up to its end was read. */
  ask(acceptance: AcceptanceState): void {
    this.assigned = true;
    this.remember(acceptance);
    if (this.asked !== undefined) return;
    this.request(acceptance);
  }

  private remember(acceptance: AcceptanceState): void {
    for (const service of this.services) {
      const incarnation = acceptance[service]?.incarnation;
      if (incarnation === undefined) continue;
      const others = (this.newest.get(service) ?? []).filter((one) => one !== incarnation);
      this.newest.set(service, [incarnation, ...others].slice(0, ownersKept));
    }
  }

  /** The group took the partition away, or it cannot be read: act no more, and list nothing. */
  release(): void {
    this.assigned = false;
    this.owned.clear();
    this.asked = undefined;
    this.cancelRetry?.();
  }

  /**
   * A request of ours was refused for good: its numbers are abandoned by a new epoch (DESIGN 3.2). Nothing is decided
   * until that was read. One new epoch is enough for all that was refused together.
   */
  renew(acceptance: AcceptanceState): void {
    if (ablated('2d')) return;
    this.owned.clear();
    if (!this.assigned || this.asked !== undefined) return;
    const delayMs = this.renewalDelayMs();
    if (delayMs === 0) this.request(acceptance);
    else this.retryAfter(delayMs, () => this.request(acceptance));
  }

  /** A turn of the own epoch did not count: its numbers are wrong, and those of all that follow. */
  renewVoid(acceptance: AcceptanceState): void {
    if (!ablated('2b')) this.renew(acceptance);
  }

  /** A broker that takes epochs and refuses what is decided under them must not be asked without end. */
  private renewalDelayMs(): number {
    const nowMs = this.parts.ports.clock.nowMs();
    this.renewals = nowMs - this.renewedAtMs < renewalsForgottenMs ? this.renewals + 1 : 0;
    this.renewedAtMs = nowMs;
    if (this.renewals < renewalsAtOnce) return 0;
    return Math.min(renewalWaitMsMax, 100 * 2 ** Math.min(this.renewals, 8));
  }

  /** An epoch record was read. Answers the services won and lost by it. */
  read(header: RecordHeader, acceptance: AcceptanceState): { won: string[]; lost: string[] } {
    const won: string[] = [];
    const lost: string[] = [];
    const own = header.incarnation === this.identity.incarnation;
    for (const service of this.services) {
      const current = acceptance[service];
      const mine = current?.incarnation === this.identity.incarnation;
      if (own && mine && current.number === header.epoch && header.epoch === this.asked) {
        this.owned.set(service, header.epoch);
        won.push(service);
      } else if (!mine && this.owned.delete(service)) lost.push(service);
      this.note(service, acceptance, header);
    }
    if (own && header.epoch === this.asked) this.asked = undefined;
    if (own) this.refusals = 0;
    if (this.assigned && this.missing().length > 0) this.retryLater(acceptance);
    const before = new Set(won.flatMap((service) => this.newest.get(service) ?? []));
    before.delete(this.identity.incarnation);
    this.predecessors = [...before];
    this.remember(acceptance);
    return { won, lost };
  }

  private missing(): string[] {
    return this.services.filter((service) => !this.owned.has(service));
  }

  private request(acceptance: AcceptanceState): void {
    const number = nextEpochNumber(acceptance);
    this.asked = number;
    const { clock, random, logger } = this.parts.ports;
    const body: EpochBody = {
      kind: 'epoch',
      services: [...this.services],
      number,
      incarnation: this.identity.incarnation,
      host: this.identity.host,
      release: this.identity.release,
      atMs: clock.nowMs(),
    };
    const id = `epo_${recordHash({ ...body, nonce: random.id() }).slice(0, 32)}`;
    logger.debug({ ...this.at, number }, 'asking for the partition');
    this.parts.writer.push({
      records: [{ id, body, traceparent: '' }],
      // What was never sent need not be: the partition was taken away meanwhile.
      stale: () => this.asked !== number,
      onRefused: (error) => this.refused(error, acceptance),
    });
    if (ablated('1a')) for (const service of this.services) this.owned.set(service, number);
  }

  /** Nobody serves the partition as long as this lasts: it must be heard. */
  private refused(error: Error, acceptance: AcceptanceState): void {
    this.asked = undefined;
    this.refusals += 1;
    const fields = { ...this.at, refusals: this.refusals, error: error.message };
    const fix = 'give this host the right to write to the topic; it asks again by itself';
    this.parts.ports.logger.error({ ...fields, fix }, 'partition not served: epoch refused');
    if (this.assigned) this.retryLater(acceptance);
  }

  /** Looks again, with jitter, whether the owner is heard of; less and less often where the broker refuses. */
  private retryLater(acceptance: AcceptanceState): void {
    if (ablated('1b')) return;
    const { random } = this.parts.ports;
    const delayMs = limits.presenceMs * (0.2 + 0.3 * random.fraction());
    const refusedMs = Math.min(refusedWaitMsMax, delayMs * 2 ** Math.min(this.refusals, 8));
    this.retryAfter(this.refusals === 0 ? delayMs : refusedMs, () => {
      if (this.missing().some((service) => this.ownerIsGone(service, acceptance))) {
        this.request(acceptance);
      } else this.retryLater(acceptance);
    });
  }

  private retryAfter(delayMs: number, run: () => void): void {
    this.cancelRetry?.();
    this.cancelRetry = this.parts.ports.clock.after(delayMs, () => {
      if (this.assigned && this.asked === undefined && this.missing().length > 0) run();
    });
  }

  /** From when on the owner of a service is waited for: from the reading of its epoch. */
  private note(
    service: string,
    acceptance: AcceptanceState,
    header?: RecordHeader,
  ): Owner | undefined {
    const current = acceptance[service];
    if (current === undefined || current.incarnation === this.identity.incarnation) {
      this.owners.delete(service);
      return undefined;
    }
    const { incarnation, number } = current;
    const known = this.owners.get(service);
    if (known?.epoch.incarnation === incarnation && known.epoch.epoch === number) return known;
    const partition = `${this.at.topic}/${this.at.partition}`;
    const read = header?.incarnation === incarnation && header.epoch === number;
    const standby = read && !sameNames(header.services, this.services);
    const owner = {
      epoch: { incarnation, partition, service, epoch: number },
      sinceMs: this.parts.presence.markMs(),
      waitMs: limits.presenceMs * (standby ? 3 : 1),
    };
    this.owners.set(service, owner);
    return owner;
  }

  private ownerIsGone(service: string, acceptance: AcceptanceState): boolean {
    const owner = this.note(service, acceptance);
    if (owner === undefined) return true;
    if (ablated('1d')) return this.parts.presence.isGone(owner.epoch.incarnation);
    return this.parts.presence.unlistedMs(owner.epoch, owner.sinceMs) > owner.waitMs;
  }
}

/** Hosts of one group run the same services. */
function sameNames(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name) => right.includes(name));
}
