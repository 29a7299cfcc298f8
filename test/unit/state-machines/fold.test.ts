import { describe, expect, test } from 'vitest';
import { assign, setup } from 'xstate';
import { createFold, type Persisted } from '../../../state-machines/fold.ts';

type Event = { type: 'open' } | { type: 'note'; words: string } | { type: 'close' };

const machine = setup({
  types: { context: {} as { notes: string[] }, events: {} as Event },
  guards: {
    isNew: ({ context, event }) => event.type === 'note' && !context.notes.includes(event.words),
  },
}).createMachine({
  id: 'door',
  context: { notes: [] },
  initial: 'shut',
  states: {
    shut: { on: { open: 'open' } },
    open: {
      on: {
        note: {
          guard: 'isNew',
          actions: assign({ notes: ({ context, event }) => [...context.notes, event.words] }),
        },
        close: 'gone',
      },
    },
    gone: { type: 'final' },
  },
});

const fold = createFold<Event>(machine);
const stateAfter = (...events: readonly Event[]): Persisted =>
  events.reduce(fold.next, fold.initial());
const throughJson = (state: Persisted): Persisted => JSON.parse(JSON.stringify(state)) as Persisted;

describe('a fold', () => {
  test('begins at the initial state, as plain data', () => {
    expect(fold.initial()).toEqual({ value: 'shut', context: { notes: [] }, done: false });
    expect([fold.id, fold.initial()]).toEqual(['door', fold.initial()]);
  });

  test('moves by events and says when it is done', () => {
    expect(stateAfter({ type: 'open' }, { type: 'note', words: 'a' })).toEqual({
      value: 'open',
      context: { notes: ['a'] },
      done: false,
    });
    expect(stateAfter({ type: 'open' }, { type: 'close' })).toMatchObject({
      value: 'gone',
      done: true,
    });
  });

  test('answers the very same state for an event that the machine refuses', () => {
    const shut = fold.initial();
    expect(fold.next(shut, { type: 'close' })).toBe(shut);
    const open = stateAfter({ type: 'open' }, { type: 'note', words: 'a' });
    expect(fold.next(open, { type: 'note', words: 'a' })).toBe(open);
    const gone = stateAfter({ type: 'open' }, { type: 'close' });
    expect(fold.next(gone, { type: 'open' })).toBe(gone);
  });

  test('never changes the state that it was given', () => {
    const open = stateAfter({ type: 'open' });
    const copy = structuredClone(open);
    fold.next(open, { type: 'note', words: 'a' });
    expect(open).toEqual(copy);
  });

  test('goes on from a state that was stored, done or not', () => {
    const events: Event[] = [{ type: 'open' }, { type: 'note', words: 'a' }, { type: 'close' }];
    for (let cut = 0; cut <= events.length; cut++) {
      const stored = throughJson(stateAfter(...events.slice(0, cut)));
      expect(events.slice(cut).reduce(fold.next, stored)).toEqual(stateAfter(...events));
    }
    const gone = throughJson(stateAfter(...events));
    expect(fold.next(gone, { type: 'open' })).toBe(gone);
  });

  test('says beforehand whether an event would move it', () => {
    const shut = throughJson(fold.initial());
    expect([fold.can(shut, { type: 'open' }), fold.can(shut, { type: 'close' })]).toEqual([
      true,
      false,
    ]);
  });
});

test('the definition is text that changes with the machine', () => {
  const other = setup({}).createMachine({ id: 'door', initial: 'a', states: { a: {} } });
  expect(createFold(other).definition).not.toBe(fold.definition);
  expect(createFold<Event>(machine).definition).toBe(fold.definition);
});
