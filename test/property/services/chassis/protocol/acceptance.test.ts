import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AcceptanceState,
  accept,
  copyAcceptance,
} from '../../../../../services/chassis/protocol/acceptance.ts';
import type { RecordHeader } from '../../../../../services/chassis/protocol/record.ts';
import { headerOf, skipped } from '../../../../support/placed-record.ts';
import { epochBody, turnBody } from '../../../../support/written-session.ts';

/** Owners, zombies and repeats of two services in any order. */

const incarnations = fc.constantFrom('one', 'two');
const services = fc.constantFrom('planner', 'supervisor');

const epochs = fc
  .record({
    number: fc.integer({ min: 1, max: 4 }),
    incarnation: incarnations,
    services: fc.uniqueArray(services, { minLength: 1 }),
  })
  .map((values) => headerOf('epo', epochBody(values)));

const turns = fc
  .record({
    epoch: fc.integer({ min: 1, max: 4 }),
    incarnation: incarnations,
    service: services,
    sequence: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ sequence, ...values }) => {
    const body = turnBody('ses_one', [skipped('a')], values);
    return headerOf('trn', body, sequence);
  });

const logs = fc.array(fc.oneof(epochs, turns, turns), { maxLength: 60 });

const verdicts = (state: AcceptanceState, log: readonly RecordHeader[]): boolean[] =>
  log.map((header) => accept(state, header));

test('a reader that starts in the middle, with the state of that place, says the same', () => {
  fc.assert(
    fc.property(logs, fc.nat(60), (log, cut) => {
      const whole: AcceptanceState = {};
      const first = verdicts(whole, log.slice(0, cut));
      const late = copyAcceptance(JSON.parse(JSON.stringify(whole)) as AcceptanceState);
      const rest = verdicts(late, log.slice(cut));
      expect([...first, ...rest]).toEqual(verdicts({}, log));
    }),
  );
});

test('accepted turns of one epoch carry 1, 2, 3 and so on: a number that matched is used up', () => {
  fc.assert(
    fc.property(logs, (log) => {
      const state: AcceptanceState = {};
      const taken = new Map<string, number[]>();
      for (const header of log) {
        if (!accept(state, header) || header.kind !== 'turn') continue;
        const key = `${header.service}/${header.epoch}/${header.incarnation}`;
        taken.set(key, [...(taken.get(key) ?? []), header.sequence]);
      }
      for (const numbers of taken.values())
        expect(numbers).toEqual(numbers.map((_one, index) => index + 1));
    }),
  );
});

test('what is void leaves no trace: without it, the others are judged the same', () => {
  fc.assert(
    fc.property(logs, (log) => {
      const state: AcceptanceState = {};
      const kept = log.filter((header) => accept(state, header));
      const again: AcceptanceState = {};
      expect(verdicts(again, kept).every(Boolean)).toBe(true);
      expect(again).toEqual(state);
    }),
  );
});
