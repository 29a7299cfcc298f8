import { ablated } from '../ablation.ts';
import { toError } from '../errors.ts';
import { deliveriesOf } from '../protocol/dead-letter.ts';
import { destinationOf } from '../protocol/decision.ts';
import type { Refused } from '../protocol/record.ts';
import type { Delivery } from '../protocol/service-logic.ts';
import type { Delivered, Outlet } from './outlet.ts';
import type { HostPorts } from './ports.ts';
import type { Seat, Slot } from './slot.ts';

export type DeliveriesParts = Readonly<{
  ports: Pick<HostPorts, 'logger'>;
  outlet: Outlet;
  owns: (service: string) => boolean;
  /** A delivery was acknowledged or refused: the session has something to decide. */
  onSettle: (session: string) => void;
}>;

/**
 * Deliveries of the sessions of one partition (DESIGN 3.12).
 *
 * D1 Sent once per process as long as the service is owned, never before; after a restart again.
 * D2 One at a time and in the order of their events, for each session and destination.
 * D3 What the broker will never take is closed as refused: it must not hold its session for ever.
 */
export class Deliveries {
  /** Session and destination -> the end of the newest delivery there. */
  private readonly lines = new Map<string, Promise<Delivered>>();
  private readonly parts: DeliveriesParts;

  constructor(parts: DeliveriesParts) {
    this.parts = parts;
  }

  /** Sends what is open in the outbox of a seat and is not on its way. */
  send(slot: Slot, seat: Seat): void {
    const { name } = seat.logic;
    slot.forgetClosedDeliveries();
    for (const [address, event] of Object.entries(seat.entry.outbox)) {
      if (slot.sending.has(address)) continue;
      slot.sending.add(address);
      const origin = {
        event,
        service: name,
        session: seat.entry.core.meta,
        traceparent: slot.traces.get(event.record) ?? slot.traceparent,
        wanted: () => this.parts.owns(name) || ablated('12a'),
      };
      if (ablated('12b')) slot.acknowledged.add(address);
      const sent = deliveriesOf(seat.logic, event, seat.entry.core.meta).map((delivery) =>
        this.inLine(delivery, slot.session, () => this.parts.outlet.deliver(delivery, origin)),
      );
      void Promise.all(sent).then((all) => this.sent(slot, address, all));
    }
  }

  private inLine(
    delivery: Delivery,
    session: string,
    deliver: () => Promise<Delivered>,
  ): Promise<Delivered> {
    const line = `${session} ${destinationOf(delivery)}`;
    const before = ablated('12d') ? undefined : this.lines.get(line);
    const outcome = (before === undefined ? deliver() : before.then(deliver)).catch(
      (thrown: unknown): Delivered => ({ refused: refusedBy(thrown) }),
    );
    this.lines.set(line, outcome);
    void outcome.then(() => {
      if (this.lines.get(line) === outcome) this.lines.delete(line);
    });
    return outcome;
  }

  private sent(slot: Slot, address: string, all: readonly Delivered[]): void {
    if (all.includes('unwanted')) {
      // Whoever owns the service next sends it again; that may be this host.
      slot.sending.delete(address);
      return;
    }
    const refused = all.find((one) => typeof one === 'object')?.refused;
    if (refused === undefined) slot.acknowledged.add(address);
    else this.refuse(slot, address, refused);
    this.parts.onSettle(slot.session);
  }

  private refuse(slot: Slot, address: string, refused: Refused): void {
    slot.refused.set(address, refused);
    const fields = { session: slot.session, address, ...refused };
    this.parts.ports.logger.error(fields, 'delivery refused for good; closed as refused');
  }
}

/** It cannot even be sent: its topic is unknown, or it cannot be encoded. */
function refusedBy(thrown: unknown): Refused {
  return { code: 'DELIVERY_IMPOSSIBLE', message: toError(thrown).message };
}
