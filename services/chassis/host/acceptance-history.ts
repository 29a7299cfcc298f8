import { type AcceptanceState, copyAcceptance } from '../protocol/acceptance.ts';

type Snapshot = Readonly<{ offset: number; acceptance: AcceptanceState }>;

const snapshotsMax = 64;

/**
 * Acceptance states of places that were passed: a watermark below the position must carry the state of its place.
 * Old snapshots are thinned out evenly; the oldest stays, since some session may need it for long.
 */
export class AcceptanceHistory {
  private snapshots: Snapshot[];

  constructor(offset: number, acceptance: AcceptanceState) {
    this.snapshots = [{ offset, acceptance: copyAcceptance(acceptance) }];
  }

  /** `acceptance` is the state before the record at `offset`. */
  add(offset: number, acceptance: AcceptanceState): void {
    if (this.snapshots.at(-1)?.offset === offset) return;
    this.snapshots.push({ offset, acceptance: copyAcceptance(acceptance) });
    if (this.snapshots.length <= snapshotsMax) return;
    const last = this.snapshots.length - 1;
    this.snapshots = this.snapshots.filter(
      (_one, index) => index === 0 || index === last || index % 2 === 0,
    );
  }

  /** The newest known place that is not after the offset. */
  atOrBefore(offset: number): Snapshot {
    let best = this.snapshots[0] as Snapshot;
    for (const snapshot of this.snapshots) if (snapshot.offset <= offset) best = snapshot;
    return best;
  }
}
