import { expect, test } from 'vitest';
import { type Draft, event, type SeenEvent } from '../../../../schemas/event.ts';
import type { LostReason } from '../../../../services/chassis/protocol/service-logic.ts';
import {
  eventStoreLogic,
  type SinkFacts,
  type SinkState,
  tokenOf,
} from '../../../../services/event-store/decide.ts';

const nowMs = 1_000;
const nothing: SinkFacts = { cut: 0, rows: 0, waitedMs: 0, needFrom: 0, abandoned: '' };

function given(...drafts: readonly Draft[]): SinkState {
  return drafts.reduce<SinkState>((state, draft, index) => {
    const source = { record: `r${index}`, index: 0, version: 1, content: {}, atMs: 0 };
    const seen = { ...draft, ...source, service: 'event-store', incarnation: 'i' };
    return eventStoreLogic.evolve(state, seen as SeenEvent);
  }, eventStoreLogic.initial());
}

const when = (
  state: SinkState,
  facts: Partial<SinkFacts>,
  lost: Record<string, LostReason> = {},
): readonly Draft[] =>
  eventStoreLogic.decide(state, {
    session: { session: 'sink_t/2', tenant: 'longrein', principal: '', labels: {} },
    nowMs,
    facts: { ...nothing, ...facts },
    attachments: {},
    causes: [],
    openCalls: {},
    lost,
  });

const opened = event('sink.opened', { topic: 't', partition: 2, fromOffset: 10 });
const bounds = { topic: 't', partition: 2, from: 10, to: 25, needFrom: 4 };
const fixed = event('range.fixed', { call: 't/2/10', attempt: 1, deadlineAtMs: 9, ...bounds });
const stored = event('range.stored', {
  ...{ call: 't/2/10', claim: 'r1#0', attempt: 1, rows: 40, durationMs: 3 },
});

test('nothing is fixed before the log of ranges is opened', () => {
  expect(when(given(), { cut: 25, rows: 5_000, waitedMs: 999 })).toEqual([]);
});

test('few rows wait', () => {
  expect(when(given(opened), { cut: 25, rows: 1_999, waitedMs: 199 })).toEqual([]);
});

test.each([
  ['many rows', { rows: 2_000, waitedMs: 0 }],
  ['rows that have waited', { rows: 1, waitedMs: 200 }],
])('%s are fixed from the first offset that is not stored', (_, due) => {
  const drafts = when(given(opened), { cut: 25, needFrom: 4, ...due });
  expect(drafts).toEqual([
    event('range.fixed', {
      ...{ call: 't/2/10', attempt: 1, deadlineAtMs: nowMs + 86_400_000 },
      ...bounds,
    }),
  ]);
});

test('while a range is fixed nothing more is', () => {
  const facts = { cut: 99, rows: 9_999, waitedMs: 999 };
  expect(when(given(opened, fixed), facts)).toEqual([]);
});

test.each<[string, Partial<SinkFacts>, Record<string, LostReason>]>([
  ['its runner is gone', {}, { 't/2/10': 'runner-gone' }],
  ['its deadline has passed', {}, { 't/2/10': 'deadline' }],
  ['this process does not run it', { abandoned: 'r1#0' }, {}],
])('a fixed range is claimed again with the same bounds when %s', (_, facts, lost) => {
  const more = { cut: 99, rows: 9_999, waitedMs: 999, needFrom: 77 };
  const [draft, ...rest] = when(given(opened, fixed), { ...more, ...facts }, lost);
  expect(rest).toEqual([]);
  expect(draft?.data).toMatchObject({ call: 't/2/10', attempt: 2, ...bounds });
});

test('a claim that this process gave up long ago is not the newest one', () => {
  const again = event('range.fixed', { call: 't/2/10', attempt: 2, deadlineAtMs: 9, ...bounds });
  expect(when(given(opened, fixed, again), { abandoned: 'r1#0' })).toEqual([]);
});

test('after a range is stored the next one begins where it ended', () => {
  const state = given(opened, fixed, stored);
  expect(state).toMatchObject({ next: 25, needFrom: 4, fixed: null });
  expect(when(state, { cut: 25, rows: 0, waitedMs: 0 })).toEqual([]);
  const [draft] = when(state, { cut: 31, rows: 6, waitedMs: 250, needFrom: 31 });
  expect(draft?.data).toMatchObject({ call: 't/2/25', from: 25, to: 31, needFrom: 31 });
});

test('a claim of a range that is stored already changes nothing', () => {
  const state = given(opened, fixed, stored);
  const again = event('range.fixed', { call: 't/2/10', attempt: 2, deadlineAtMs: 9, ...bounds });
  expect(given(opened, fixed, stored, again)).toEqual(state);
});

test('the second opening changes nothing', () => {
  const other = event('sink.opened', { topic: 't', partition: 2, fromOffset: 99 });
  expect(given(opened, other)).toEqual(given(opened));
});

test('the name of a range says where it is', () => {
  expect(tokenOf(given(opened), { from: 10, to: 25 })).toBe('t/2/10-25');
});
