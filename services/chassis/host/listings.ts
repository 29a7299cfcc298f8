type Listing = { epoch: number; heardMs: number };

/** What an instance said it owns: `topic/partition` -> service -> its epoch, and when it was listed last, in time of hearing. */
export type Listings = Map<string, Map<string, Listing>>;

type Listed = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Every heartbeat of every instance comes through here with all that it owns: what is known is changed in place. */
export function list(
  listings: Listings,
  { partitions }: Readonly<{ partitions: Listed }>,
  heardMs: number,
): void {
  for (const [partition, services] of Object.entries(partitions)) {
    const known = listings.get(partition) ?? new Map<string, Listing>();
    listings.set(partition, known);
    for (const [service, epoch] of Object.entries(services)) {
      const listing = known.get(service);
      if (listing === undefined) known.set(service, { epoch, heardMs });
      else {
        listing.epoch = epoch;
        listing.heardMs = heardMs;
      }
    }
  }
}
