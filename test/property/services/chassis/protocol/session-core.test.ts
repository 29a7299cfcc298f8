import fc from 'fast-check';
import { expect, test } from 'vitest';
import { event } from '../../../../../schemas/event.ts';
import { canonical } from '../../../../../services/chassis/protocol/hash.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import {
  foldCore,
  type SessionCore,
  unknownSession,
} from '../../../../../services/chassis/protocol/session-core.ts';
import {
  cancel,
  claimed,
  completed,
  input,
  opening,
  session,
  skipped,
  timerSet,
  turn,
  unknown,
} from '../../../../support/placed-record.ts';

/** Random sessions: few names, so that records meet each other. */

type Made = (offset: number) => PlacedRecord;

const small = fc.nat(5);
const atMs = fc.integer({ min: 1, max: 20 }).map((n) => Date.UTC(2026, 0, 15) + n * 1_000);
const calls = fc.constantFrom('a', 'b');

const records: fc.Arbitrary<Made> = fc.oneof(
  fc.constant<Made>((offset) => opening(offset)),
  small.map(
    (n): Made =>
      (offset) =>
        input(offset, cancel(), { id: `inp_c${n}` }),
  ),
  calls.map(
    (call): Made =>
      (offset) =>
        turn(offset, [claimed(call)]),
  ),
  calls.map(
    (call): Made =>
      (offset) =>
        turn(offset, [unknown(call)]),
  ),
  fc.tuple(calls, small).map(
    ([call, at]): Made =>
      (offset) => {
        return input(offset, completed(call, `trn_${at}#0`), { id: `inp_${call}_${at}` });
      },
  ),
  atMs.map(
    (due): Made =>
      (offset) =>
        turn(offset, [timerSet('t', due), skipped('x')]),
  ),
  fc.tuple(small, atMs).map(
    ([at, when]): Made =>
      (offset) => {
        const draft = event('timer.fired', {
          timer: 't',
          record: `trn_${at}`,
          index: 0,
          dueAtMs: 1,
        });
        return input(offset, draft, { id: `inp_t${at}`, atMs: when });
      },
  ),
  small.map(
    (at): Made =>
      (offset) =>
        turn(offset, [skipped('y')], { foreseen: [`trn_${at}`] }),
  ),
);

const logs = fc
  .array(records, { maxLength: 30 })
  .map((made) => [opening(0), ...made.map((one, index) => one(index + 1))]);

type Folded = Readonly<{ core: SessionCore; seen: readonly string[] }>;

function fold(log: readonly PlacedRecord[]): Folded {
  let core = unknownSession(session);
  const seen: string[] = [];
  for (const record of log) {
    const step = foldCore(core, record);
    core = step.core;
    seen.push(...step.events.map((one) => `${one.type} ${one.record}#${one.index}`));
  }
  return { core, seen };
}

/** Places of inputs that took effect. Only their repeats are harmless: one that came too early may count later. */
function effectiveInputs(log: readonly PlacedRecord[]): number[] {
  let core = unknownSession(session);
  return log.flatMap((record, place) => {
    const step = foldCore(core, record);
    core = step.core;
    return record.body.kind === 'input' && step.events.length > 0 ? [place] : [];
  });
}

/** The log with repeats: each is a choice among its effective inputs, and how far behind it comes again. */
function withRepeats(
  log: readonly PlacedRecord[],
  repeats: readonly (readonly [choice: number, behind: number])[],
): PlacedRecord[] {
  const places = effectiveInputs(log);
  const again = repeats.map(([choice, behind]) => {
    const place = places[choice % places.length] ?? 0;
    return { record: log[place], after: Math.min(place + behind, log.length - 1) };
  });
  return log.flatMap((record, place) => {
    const here = again.filter(({ after }) => after === place).flatMap((one) => one.record ?? []);
    return [record, ...here];
  });
}

test('inputs that come again, anywhere behind the first, change nothing', () => {
  const repeats = fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { maxLength: 10 });
  fc.assert(
    fc.property(logs, repeats, (log, again) => {
      const longer = withRepeats(log, again);
      expect(longer).toHaveLength(log.length + again.length);
      expect(fold(longer).seen).toEqual(fold(log).seen);
      expect(canonical(fold(longer).core)).toEqual(canonical(fold(log).core));
    }),
  );
});

test('what was ignored leaves no trace: without it the log says the same', () => {
  fc.assert(
    fc.property(logs, (log) => {
      let core = unknownSession(session);
      const kept = log.filter((record) => {
        const step = foldCore(core, record);
        core = step.core;
        return step.ignored === undefined;
      });
      expect(canonical(fold(kept).core)).toEqual(canonical(core));
    }),
  );
});

test('a session opens once, and a call has no more outcomes than claims', () => {
  fc.assert(
    fc.property(logs, (log) => {
      const { seen } = fold(log);
      const count = (type: string): number => seen.filter((one) => one.startsWith(type)).length;
      expect(count('session.opened')).toBe(1);
      expect(count('tool.completed')).toBeLessThanOrEqual(count('tool.claimed'));
      const fired = seen.filter((one) => one.startsWith('timer.fired'));
      expect(fired.length).toBeLessThanOrEqual(count('timer.set'));
    }),
  );
});

test('a fold that goes on from its own JSON says the same', () => {
  fc.assert(
    fc.property(logs, fc.nat(30), (log, cut) => {
      const first = fold(log.slice(0, cut)).core;
      let core = JSON.parse(JSON.stringify(first)) as SessionCore;
      for (const record of log.slice(cut)) core = foldCore(core, record).core;
      expect(canonical(core)).toEqual(canonical(fold(log).core));
    }),
  );
});
