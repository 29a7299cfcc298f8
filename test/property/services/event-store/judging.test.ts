import fc from 'fast-check';
import { expect, test } from 'vitest';
import { event } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import type { LogRecord, OutgoingRecord } from '../../../../services/chassis/log/port.ts';
import {
  type AcceptanceState,
  copyAcceptance,
} from '../../../../services/chassis/protocol/acceptance.ts';
import { canonical } from '../../../../services/chassis/protocol/hash.ts';
import { canonicalText } from '../../../../services/event-store/canonical-text.ts';
import { decodeRecord } from '../../../../services/event-store/decoded-record.ts';
import type { Judgement } from '../../../../services/event-store/judged-record.ts';
import { rowsOf } from '../../../../services/event-store/judgement.ts';
import { SessionFold } from '../../../../services/event-store/partition-fold.ts';
import {
  epochBody,
  inputBody,
  openingBody,
  recordOf,
  turnBody,
} from '../../../support/written-session.ts';

const codec = createFixedCodec();
const name = { topic: 't', partition: 0 };
const sessions = ['ses_a', 'ses_b', 'ses_c', 'ses_d'];

type Step = {
  do: 'open' | 'cancel' | 'turn' | 'close' | 'epoch' | 'foreign';
  session: string;
  odd: boolean;
};

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom(
    'open',
    'open',
    'cancel',
    'turn',
    'turn',
    'turn',
    'close',
    'epoch',
    'foreign',
  ),
  session: fc.constantFrom(...sessions),
  odd: fc.boolean(),
});

/**
 * A log with openings that repeat, zombies, gaps in numbers, cancels before and after, sessions
 * that end.
 */
function logOf(steps: readonly Step[]): readonly LogRecord[] {
  let epoch = 0;
  let sequence = 0;
  const records = steps.map(({ do: what, session, odd }, offset): OutgoingRecord => {
    const id = `rec_${offset}`;
    switch (what) {
      case 'open':
        return recordOf(`open_${session}`, openingBody(session), codec);
      case 'cancel': {
        const draft = event('session.cancel-requested', { requestedBy: 'mary' });
        return recordOf(odd ? `cancel_${session}` : id, inputBody(session, draft), codec);
      }
      case 'epoch':
        epoch += odd ? 0 : 1;
        if (!odd) sequence = 0;
        return recordOf(id, epochBody({ number: epoch }), codec);
      case 'foreign':
        return { key: session, headers: { app: 'x' }, value: null };
      default: {
        const draft =
          what === 'close' ? event('session.closed', {}) : event('agent.started', { agent: 'a' });
        if (!odd) sequence += 1;
        const values = { epoch, ...(odd ? { incarnation: 'zombie' } : {}) };
        return recordOf(id, turnBody(session, [draft], values), codec, { sequence });
      }
    }
  });
  return records.map((one, offset) => ({ ...one, ...name, offset, timestampMs: 1 }));
}

type Place = Readonly<{ needFrom: number; acceptance: AcceptanceState }>;

/**
 * Closings as hosts remember them: a mark may stand above the first record of a session only once its closing is written,
 * wherever that lies.
 */
function closedBelow(log: readonly LogRecord[], judged: readonly Judgement[], offset: number) {
  const sessionOf = ({ headers }: LogRecord): string => headers['ce_subject'] ?? '';
  const below = new Set(log.slice(0, offset).map(sessionOf));
  const closings = log.filter(
    (record) =>
      below.has(sessionOf(record)) &&
      record.headers['lr_types'] === 'session.closed' &&
      (judged[record.offset]?.effectiveEvents ?? 0) > 0,
  );
  const closed = Object.fromEntries(closings.map((one) => [sessionOf(one), one.offset]));
  const hour = Math.floor(Date.UTC(2026, 0, 15) / 3_600_000);
  return [{ ...name, hour, sessions: closed }];
}

test('whoever starts where the state says judges every later record the same', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const log = logOf(steps);
      const whole = new SessionFold(name, { acceptance: {}, closed: [] });
      const judged: Judgement[] = [];
      const places: Place[] = [{ needFrom: 0, acceptance: {} }];
      for (const record of log) {
        judged.push(whole.judge(decodeRecord(record)));
        const needFrom = whole.needFrom(record.offset + 1);
        places.push({ needFrom, acceptance: copyAcceptance(whole.acceptance) });
      }
      for (const [next, { needFrom }] of places.entries()) {
        const { acceptance } = places[needFrom] ?? { acceptance: {} };
        const closed = closedBelow(log, judged, needFrom);
        const late = new SessionFold(name, { acceptance, closed });
        const again = log.slice(needFrom).map((record) => late.judge(decodeRecord(record)));
        const wanted = (all: readonly Judgement[], from: number) =>
          all.slice(from).map(({ effectiveEvents }) => effectiveEvents);
        expect(wanted(again, next - needFrom)).toEqual(wanted(judged, next));
      }
    }),
    { numRuns: 300 },
  );
});

test('every record has at least one row, whatever is in it', () => {
  const headers = fc.dictionary(
    fc.constantFrom('lr_kind', 'ce_id', 'ce_time', 'lr_epoch', 'lr_sequence', 'traceparent'),
    fc.oneof(fc.string(), fc.constantFrom('turn', 'input', 'checkpoint', 'epoch', '1')),
  );
  const value = fc.oneof(
    fc.constant(null),
    fc.uint8Array(),
    fc.json().map((text) => Buffer.from(text)),
    fc.jsonValue().map((body) => codec.encode('turn', { kind: 'turn', events: [body, {}], body })),
  );
  fc.assert(
    fc.property(headers, value, (given, bytes) => {
      const log = { ...name, key: 'k', headers: given, value: bytes, offset: 3, timestampMs: 1 };
      const fold = new SessionFold(name, { acceptance: {}, closed: [] });
      const decoded = decodeRecord(log);
      const judgement = fold.judge(decoded);
      const rows = rowsOf({ log, header: decoded.header, judgement });
      expect(rows[0]).toMatchObject({ offset: 3, index: 0 });
      expect(JSON.parse(rows[0]?.record ?? '')).toHaveProperty('headers');
      expect(rows.map(({ index }) => index)).toEqual(rows.map((_, index) => index));
    }),
    { numRuns: 1_000 },
  );
});

test('the fast text of a value is the canonical one', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as JsonValue;
      expect(canonicalText(plain)).toBe(canonical(plain));
    }),
    { numRuns: 1_000 },
  );
  for (const text of [
    '{"b":1,"10":2,"9":3,"a":{"__proto__":4,"B":[{}]}}',
    '{"é":1,"z":"\\ud800"}',
  ]) {
    expect(canonicalText(JSON.parse(text))).toBe(canonical(JSON.parse(text)));
  }
});
