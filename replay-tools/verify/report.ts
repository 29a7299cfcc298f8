import type { RecordBody, RecordHeader } from '../../services/chassis/protocol/record.ts';
import type { Change } from './changes.ts';

/** What `verify` found. `expected` is always what is recorded, `actual` what this release makes of it. */

export type DifferenceKind =
  /** A decision that comes out otherwise. */
  | 'decision'
  /** A record whose id is not the hash of what is in it. */
  | 'record-id'
  /** Headers that say something else than the body. */
  | 'header'
  /** A content whose digest is not the one of its body. */
  | 'content'
  /** A checkpoint that is not the state at its cursor. */
  | 'checkpoint'
  /** An outcome or a timer whose id does not follow from what it is about. */
  | 'input-id'
  /** A timer that says another due time than its setting. */
  | 'timer'
  /** A cause that was not open. */
  | 'cause'
  /** A base, a foreseen turn or a root that does not stand before the record. */
  | 'base'
  /** An event that this release cannot fold. */
  | 'fold';

export type Difference = Readonly<{
  kind: DifferenceKind;
  /** One sentence. */
  message: string;
  service: string;
  record: string;
  offset: number;
  /** Which event of the record, and its type, where the difference is in one. */
  eventIndex?: number;
  eventType?: string;
  changes: readonly Change[];
  /** Release and behaviour version that wrote it; empty and -1 where the record does not say. */
  release: string;
  behaviour: number;
}>;

export type ServiceCounts = Readonly<{
  /** Effective turns, and the events in them. */
  turns: number;
  events: number;
  /** Turns that were decided again. */
  decisions: number;
  /** Turns and checkpoints of which only the hashes were checked. */
  hashOnly: number;
  checkpoints: number;
}>;

/** Turns that another release decided: what is in them is as it was written, and that is all that can be said. */
export type HashedTurns = Readonly<{
  service: string;
  behaviour: number;
  release: string;
  turns: number;
  /** Why this release cannot decide them again, as a clause. */
  because: string;
}>;

export type VerifyCounts = Readonly<{
  /** Records of the session, whatever they are. */
  records: number;
  turns: number;
  inputs: number;
  checkpoints: number;
  events: number;
  decisions: number;
  hashOnly: number;
  /** Bodies of contents whose digest was computed again. */
  contents: number;
  /** Accepted, without effect: repeats, late outcomes, what came after the end. */
  ignored: number;
  /** Written by an owner that was none any more. */
  void: number;
  /** Records of other sessions that acceptance needed. */
  others: number;
}>;

export type VerifyReport = Readonly<{
  session: string;
  tenant: string;
  topic: string;
  partition: number;
  origin: string;
  /** `running`: verified so far. `unknown`: the session's beginning is not in the source. */
  status: 'closed' | 'running' | 'unknown';
  /** Nothing differs. */
  identical: boolean;
  /** Every decision was computed again. */
  complete: boolean;
  counts: VerifyCounts;
  services: Readonly<Record<string, ServiceCounts>>;
  /** Releases that wrote the turns. */
  releases: readonly string[];
  /** Turns that were checked by hash only because another release decided them. */
  hashed: readonly HashedTurns[];
  /** In the order of the log; at most twenty. */
  differences: readonly Difference[];
  /** What could be checked by hash only, or not at all, and why. */
  warnings: readonly string[];
}>;

/** Who wrote a record, as far as it says so. */
export function writerOf(
  header: RecordHeader,
  body: RecordBody | undefined,
): Pick<Difference, 'service' | 'release' | 'behaviour'> {
  const { service, behaviour } = header;
  const release = body !== undefined && 'release' in body ? body.release : '';
  return { service, release, behaviour };
}

type Author = Pick<HashedTurns, 'service' | 'behaviour' | 'release'>;

/** Collects what the checks find. */
export class Findings {
  readonly differences: Difference[] = [];
  contents = 0;
  private readonly services = new Map<string, { -readonly [K in keyof ServiceCounts]: number }>();
  private readonly said = new Map<string, number>();
  private readonly byHash = new Map<string, HashedTurns>();

  differ(difference: Difference): void {
    if (this.differences.length < differencesMax) this.differences.push(difference);
  }

  /** A warning; the same one again is only counted. */
  warn(message: string): void {
    this.said.set(message, (this.said.get(message) ?? 0) + 1);
  }

  count(service: string, what: Partial<ServiceCounts>): void {
    const counts = this.services.get(service) ?? { ...nothing };
    this.services.set(service, counts);
    counts.turns += what.turns ?? 0;
    counts.events += what.events ?? 0;
    counts.decisions += what.decisions ?? 0;
    counts.hashOnly += what.hashOnly ?? 0;
    counts.checkpoints += what.checkpoints ?? 0;
  }

  /** A turn was checked by hash only. */
  hash({ service, behaviour, release }: Author, because: string): void {
    this.count(service, { hashOnly: 1 });
    const key = JSON.stringify([service, behaviour, release, because]);
    const turns = (this.byHash.get(key)?.turns ?? 0) + 1;
    this.byHash.set(key, { service, behaviour, release, turns, because });
  }

  get hashed(): readonly HashedTurns[] {
    return [...this.byHash.values()];
  }

  get byService(): Readonly<Record<string, ServiceCounts>> {
    return Object.fromEntries([...this.services].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  get allWarnings(): readonly string[] {
    return [...this.said].map(([text, times]) => (times === 1 ? text : `${text} (${times} times)`));
  }
}

const differencesMax = 20;
const nothing: ServiceCounts = { turns: 0, events: 0, decisions: 0, hashOnly: 0, checkpoints: 0 };
