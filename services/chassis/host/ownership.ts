import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { PartitionName } from '../log/port.ts';
import { type AcceptanceState, nextEpochNumber } from '../protocol/acceptance.ts';
import type { EpochBody, RecordHeader } from '../protocol/record.ts';
import { recordHash } from '../protocol/seal.ts';
import type { HostPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import type { PartitionWriter } from './writer.ts';

export type HostIdentity = Readonly<{ incarnation: string; host: string; release: string }>;

/**
 * Which services of a partition this host may act for (DESIGN 3.1). It acts only after it has read its own epoch as the
 * current one. When it is superseded it stands by, and asks again only if the owner is gone.
 */
export class Ownership {
  /** Service -> number of the epoch that this host owns. */
  private readonly owned = new Map<string, number>();
  private asked: number | undefined;
  private assigned = false;
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

  get epochs(): ReadonlyMap<string, number> {
    return this.owned;
  }

  /** The group gave us the partition, and all up to its end was read. */
  ask(acceptance: AcceptanceState): void {
    this.assigned = true;
    if (this.asked !== undefined) return;
    this.request(acceptance);
  }

  /** The group took the partition away: act no more. */
  release(): void {
    this.assigned = false;
    this.owned.clear();
    this.asked = undefined;
    this.cancelRetry?.();
  }

  /** A request of ours was refused for good: its numbers are void with the epoch (DESIGN 3.2). */
  renew(acceptance: AcceptanceState): void {
    if (ablated('2d')) return;
    this.owned.clear();
    if (this.assigned) this.request(acceptance);
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
    }
    if (own && header.epoch === this.asked) this.asked = undefined;
    if (this.assigned && this.missing().length > 0) this.retryLater(acceptance);
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
    const onRefused = (): void => {
      this.asked = undefined;
      if (this.assigned) this.retryLater(acceptance);
    };
    this.parts.writer.push({ records: [{ id, body, traceparent: '' }], onRefused });
    if (ablated('1a')) for (const service of this.services) this.owned.set(service, number);
  }

  /** Asks again after T with jitter, but only where the current owner is not heard of (DESIGN 3.1). */
  private retryLater(acceptance: AcceptanceState): void {
    this.cancelRetry?.();
    if (ablated('1b')) return;
    const { clock, random } = this.parts.ports;
    const delayMs = limits.presenceMs * (0.2 + 0.3 * random.fraction());
    this.cancelRetry = clock.after(delayMs, () => {
      if (!this.assigned || this.asked !== undefined || this.missing().length === 0) return;
      if (this.missing().some((service) => this.ownerIsGone(acceptance[service]?.incarnation))) {
        this.request(acceptance);
      } else this.retryLater(acceptance);
    });
  }

  private ownerIsGone(incarnation: string | undefined): boolean {
    if (incarnation === undefined || incarnation === this.identity.incarnation) return true;
    const { presence } = this.parts;
    if (presence.isGone(incarnation)) return true;
    const beat = presence.alive().find((one) => one.incarnation === incarnation);
    const name = `${this.at.topic}/${this.at.partition}`;
    return beat !== undefined && beat.partitions[name] === undefined;
  }
}
