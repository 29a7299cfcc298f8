import { landedAt } from '../protocol/landed.ts';
import type { PlacedRecord, RecordBody } from '../protocol/record.ts';
import type { Cause, ServiceEntry } from '../protocol/service-fold.ts';
import type { CoreStep, SessionCore } from '../protocol/session-core.ts';
import { decidesTheSame } from './quiet.ts';

/** What one service made of one record of a batch, at the place that the record was thought to get. */
type Shown = Readonly<{
  body: RecordBody;
  offset: number;
  before: SessionCore;
  step: CoreStep;
  after: ServiceEntry;
}>;

type Line = {
  readonly shown: Shown[];
  /** How many of them have landed, and what the service knows by the log since. */
  landed: number;
  reached: ServiceEntry;
  /** The entry at which it was last asked and had nothing to say. */
  quiet: ServiceEntry | undefined;
};

export type Landed = Readonly<{ entry: ServiceEntry; step: CoreStep }>;

/**
 * What the services of a host know of a batch before it is in the log (DESIGN 3.5). Where it lands as foreseen, nothing is
 * folded again: state and events are those that are there, and only offsets become those of the log.
 *
 * S1 It is used for the very records that were shown, in their order, by a service that knows exactly what it knew then:
 *    a record that slipped in, or one of the batch that is void, and all that follows is folded like anyone's.
 */
export class Foresight {
  private readonly lines = new Map<string, Line>();
  /** Services that knew the same share what comes of it. */
  private readonly steps = new Map<CoreStep, CoreStep>();
  private stepsOf: RecordBody | undefined;

  /** The service begins from what is in the log. */
  begin(service: string, entry: ServiceEntry): void {
    this.lines.set(service, { shown: [], landed: 0, reached: entry, quiet: undefined });
  }

  shown(service: string, record: PlacedRecord, made: Omit<Shown, 'body' | 'offset'>): void {
    this.lines.get(service)?.shown.push({ body: record.body, offset: record.offset, ...made });
  }

  /** The service was asked at this entry, and had nothing to say. */
  quiet(service: string, entry: ServiceEntry): void {
    const line = this.lines.get(service);
    if (line !== undefined) line.quiet = entry;
  }

  isQuiet(service: string, entry: ServiceEntry): boolean {
    const quiet = this.lines.get(service)?.quiet;
    return quiet !== undefined && decidesTheSame(quiet, entry);
  }

  /** What the service knows with this record; undefined where it has to be folded. */
  landed(service: string, entry: ServiceEntry, record: PlacedRecord): Landed | undefined {
    const line = this.lines.get(service);
    const one = line?.shown[line.landed];
    if (line === undefined || one?.body !== record.body || line.reached !== entry) {
      this.lines.delete(service);
      return undefined;
    }
    const step = this.stepAt(one, entry.core, record);
    line.landed += 1;
    line.reached = this.entryAt(one, step, { line, record });
    return { entry: line.reached, step };
  }

  private stepAt({ step, before }: Shown, core: SessionCore, record: PlacedRecord): CoreStep {
    if (this.stepsOf !== record.body) this.steps.clear();
    this.stepsOf = record.body;
    const known = this.steps.get(step);
    if (known !== undefined) return known;
    const made = landedAt({ step, before }, core, record);
    this.steps.set(step, made);
    return made;
  }

  private entryAt(
    { after, offset }: Shown,
    { core }: CoreStep,
    { line, record }: { line: Line; record: PlacedRecord },
  ): ServiceEntry {
    const isLast = line.landed === line.shown.length;
    const first = line.shown[0]?.offset ?? 0;
    // DESIGN 3.7: a cause decided to nothing is not open.
    const answered = isLast && line.quiet !== undefined && decidesTheSame(line.quiet, after);
    const by = record.offset - offset;
    const causes = answered ? nothing : after.causes.map((cause) => moved(cause, first, by));
    return { ...after, core, causes };
  }
}

const nothing: readonly Cause[] = [];

/** A cause of the batch, from the place that was thought to the one that it got; others stand where they stood. */
const moved = (cause: Cause, from: number, by: number): Cause =>
  cause.offset < from || by === 0 ? cause : { ...cause, offset: cause.offset + by };
