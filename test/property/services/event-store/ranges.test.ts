import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Draft, event } from '../../../../schemas/event.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import {
  decideEntry,
  type FactsInput,
  noFacts,
} from '../../../../services/chassis/protocol/decision.ts';
import { outcomeId } from '../../../../services/chassis/protocol/ids.ts';
import type { RecordBody } from '../../../../services/chassis/protocol/record.ts';
import { parseHeader } from '../../../../services/chassis/protocol/record.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
} from '../../../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../../../services/chassis/protocol/service-logic.ts';
import {
  eventStoreLogic,
  type SinkState,
  sinkSession,
} from '../../../../services/event-store/decide.ts';
import { inputBody, recordOf, turnBody } from '../../../support/written-session.ts';

/** R1 and R2 under any interleaving of what is read, claimed, lost, stored late, stored twice. */

type Step =
  | { do: 'read'; records: number }
  | { do: 'decide'; waitedMs: number; gone: boolean; slips: boolean }
  | { do: 'store'; claim: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('read' as const), records: fc.integer({ min: 0, max: 30 }) }),
  fc.record({
    do: fc.constant('decide' as const),
    waitedMs: fc.constantFrom(0, 199, 200, 5_000),
    gone: fc.boolean(),
    slips: fc.boolean(),
  }),
  fc.record({ do: fc.constant('store' as const), claim: fc.nat(50) }),
);

const logic = eventStoreLogic as unknown as AnyLogic;
const session = sinkSession('t', 0);
const codec = createFixedCodec();

type Claim = Readonly<{ call: string; address: string; from: number; to: number }>;

class Run {
  entry: ServiceEntry = newEntry(logic, session);
  readonly claims: Claim[] = [];
  readonly written = new Map<string, Claim>();
  private offset = 0;
  private read = 0;

  constructor() {
    const opened = event('sink.opened', { topic: 't', partition: 0, fromOffset: 0 });
    this.place('inp_open', inputBody(session, opened));
  }

  get state(): SinkState {
    return this.entry.state as SinkState;
  }

  private place(id: string, body: RecordBody): void {
    const header = parseHeader(recordOf(id, body, codec, { sequence: 1 }).headers);
    if (header === undefined) throw new Error('not ours');
    this.entry = foldEntry(logic, this.entry, { record: { offset: this.offset++, header, body } });
  }

  private decisions(facts: FactsInput): readonly Draft[] {
    return decideEntry(logic, this.entry, facts);
  }

  take(one: Step): void {
    if (one.do === 'read') this.read += one.records;
    else if (one.do === 'decide') this.decide(one);
    else this.store(one.claim);
  }

  private decide(one: Extract<Step, { do: 'decide' }>): void {
    const { next, fixed } = this.state;
    const rows = this.read - next;
    const service = {
      ...{ cut: this.read, rows: Math.max(0, rows), waitedMs: one.waitedMs, needFrom: next },
      abandoned: one.gone ? (fixed?.claim ?? '') : '',
    };
    const facts = { ...noFacts(1_000), service };
    const drafts = this.decisions(facts);
    if (drafts.length === 0) return;
    // An outcome may slip in between a decision and its place in the log.
    if (one.slips) this.store(this.claims.length - 1);
    const id = `trn_${this.offset}`;
    this.place(id, turnBody(session, drafts, { service: 'event-store' }));
    const data = drafts[0]?.data as unknown as Claim;
    this.claims.push({ ...data, address: `${id}#0` });
    // What was proposed is not proposed again.
    if (!one.slips) expect(this.decisions(facts)).toEqual([]);
  }

  /** Whoever holds any claim, however old, writes its rows under its name, then says so. */
  private store(index: number): void {
    const claim = this.claims[index];
    if (claim === undefined) return;
    const token = `${claim.from}-${claim.to}`;
    this.written.set(token, claim);
    const { call, address } = claim;
    const done = { call, claim: address, attempt: 1, rows: 0, durationMs: 0 };
    this.place(outcomeId(call, address), inputBody(session, event('range.stored', done)));
  }
}

test('ranges follow each other without gap or overlap, and what counts as stored is written', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const run = new Run();
      for (const one of steps) run.take(one);
      const ranges = [...run.written.values()].sort((a, b) => a.from - b.from);
      let end = 0;
      for (const { from, to } of ranges) {
        expect(from).toBe(end);
        expect(to).toBeGreaterThan(from);
        end = to;
      }
      expect(end).toBe(run.state.next);
    }),
    { numRuns: 500 },
  );
});
