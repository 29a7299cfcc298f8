import type { PlacedRecord } from '../protocol/record.ts';
import type { ServiceEntry } from '../protocol/service-fold.ts';
import type { HostIdentity } from './ownership.ts';
import type { HostedService } from './ports.ts';
import type { Slot } from './slot.ts';
import { standsBy } from './standing-by.ts';

type Found = Readonly<{
  service: HostedService;
  at: Readonly<{ entry: ServiceEntry; traceparent: string }>;
}>;

/** The service whose claims a turn of this process may hold, and what it knows of the session. */
export function ownClaims(
  { header }: PlacedRecord,
  slot: Slot,
  parts: Readonly<{ services: readonly HostedService[]; identity: HostIdentity }>,
): Found | undefined {
  if (header.kind !== 'turn' || header.incarnation !== parts.identity.incarnation) return undefined;
  const service = parts.services.find((one) => one.logic.name === header.service);
  const seat = slot.seats.get(header.service);
  // Whether the session still allows the call is not known: its claim is left to the newer release.
  if (seat === undefined || service === undefined || standsBy(seat)) return undefined;
  return { service, at: { entry: seat.entry, traceparent: header.traceparent } };
}
