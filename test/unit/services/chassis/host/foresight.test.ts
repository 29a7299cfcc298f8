import { expect, test } from 'vitest';
import { event, type SeenEvent } from '../../../../../schemas/event.ts';
import { Foresight } from '../../../../../services/chassis/host/foresight.ts';
import { decidesTheSame } from '../../../../../services/chassis/host/quiet.ts';
import { foldSeat, Slot, sharedCoreFold } from '../../../../../services/chassis/host/slot.ts';
import { placedAt, type UnplacedRecord } from '../../../../../services/chassis/protocol/fusing.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import { foldEntry, newEntry } from '../../../../../services/chassis/protocol/service-fold.ts';
import { foldCore } from '../../../../../services/chassis/protocol/session-core.ts';
import {
  claimed,
  completed,
  idleLogic,
  input,
  opening,
  session,
  skipped,
  turn,
} from '../../../../support/placed-record.ts';
import { inputBody, turnBody } from '../../../../support/written-session.ts';

/** Counts what it sees; claims are news to it. */
const watcher = idleLogic<{ seen: number }>({
  ...{ name: 'watcher', initial: () => ({ seen: 0 }) },
  evolve: ({ seen }) => ({ seen: seen + 1 }),
  answers: ({ type }: SeenEvent) => type === 'tool.claimed' || type === 'tool.completed',
});
const own = idleLogic<{ types: readonly string[] }>({
  initial: () => ({ types: [] }),
  evolve: ({ types }, { type }: SeenEvent) => ({ types: [...types, type] }),
  answers: () => true,
});
const logics = [watcher, own];

/** An outcome that is foreseen, and two turns that answer it. */
const outcome = completed('call_1', 'trn_1#0');
const batch: readonly UnplacedRecord[] = [
  { id: 'out', traceparent: '', body: inputBody(session, outcome, { foreseeable: true }) },
  {
    ...{ id: 'trn_a', traceparent: '' },
    body: turnBody(session, [claimed('call_2')], { foreseen: ['out'], baseOffset: 1 }),
  },
  {
    ...{ id: 'trn_b', traceparent: '' },
    body: turnBody(session, [skipped('one')], { foreseen: ['out', 'trn_a'], baseOffset: 1 }),
  },
];
const at = (from: number): PlacedRecord[] =>
  batch.map((one, index) => placedAt(from + index, one, { batch: 'out', batchIndex: index }));

function take(slot: Slot, records: readonly PlacedRecord[], foresight?: Foresight): void {
  for (const record of records) {
    const fold = sharedCoreFold(record);
    for (const logic of logics) foldSeat(slot.seatOf(logic), record, fold, foresight);
  }
}

/** A session in which a call is claimed. */
function begun(): Slot {
  const slot = new Slot(session);
  take(slot, [opening(0), turn(1, [claimed('call_1')])]);
  return slot;
}

function foreseen(slot: Slot, quiet: readonly string[] = []): Foresight {
  const foresight = new Foresight();
  for (const logic of logics) {
    let { entry } = slot.seatOf(logic);
    foresight.begin(logic.name, entry);
    for (const record of at(2)) {
      const before = entry.core;
      const step = foldCore(before, record, logic.language);
      entry = foldEntry(logic, entry, { record, step });
      foresight.shown(logic.name, record, { before, step, after: entry });
    }
    if (quiet.includes(logic.name)) foresight.quiet(logic.name, entry);
  }
  return foresight;
}

const entries = (slot: Slot) => logics.map((logic) => slot.seatOf(logic).entry);

test('a batch that lands as foreseen gives what folding it gives, wherever it lands', () => {
  for (const from of [2, 17]) {
    const [slot, plain] = [begun(), begun()];
    const foresight = foreseen(slot);
    const evolved = logics.map(({ evolve }) => evolve);
    for (const logic of logics) Object.assign(logic, { evolve: () => 'folded again' });
    take(slot, at(from), foresight);
    for (const [index, logic] of logics.entries())
      Object.assign(logic, { evolve: evolved[index] as typeof logic.evolve });
    take(plain, at(from));
    expect(entries(slot)).toEqual(entries(plain));
    expect(slot.core?.recent).toContain(`out@${from}`);
    expect(slot.core?.last.offset).toBe(from + 2);
  }
});

test('what comes after it goes on as ever', () => {
  const [slot, plain] = [begun(), begun()];
  const foresight = foreseen(slot);
  const after = turn(9, [skipped('two')], { foreseen: ['trn_b'] });
  take(slot, [...at(5), after], foresight);
  take(plain, [...at(5), after]);
  expect(entries(slot)).toEqual(entries(plain));
});

test('where a record slips in, or one of the batch is void, all is folded as read', () => {
  const slipped = input(2, event('session.cancel-requested', { requestedBy: 'mary' }));
  const [, ...late] = at(3);
  for (const records of [[slipped, ...at(3)], late, [at(3)[0] as PlacedRecord, ...late.slice(1)]]) {
    const [slot, plain] = [begun(), begun()];
    take(slot, records, foreseen(slot));
    take(plain, records);
    expect(entries(slot)).toEqual(entries(plain));
  }
});

test('another writer of the same id is not taken for it', () => {
  const [slot, plain] = [begun(), begun()];
  const foresight = foreseen(slot);
  const theirs = at(2).map(({ body, ...rest }) => ({ ...rest, body: { ...body } }));
  take(slot, theirs, foresight);
  take(plain, theirs);
  expect(entries(slot)).toEqual(entries(plain));
});

test('causes at which a service had nothing to say are answered when all of the batch has landed', () => {
  const slot = begun();
  const foresight = foreseen(slot, ['watcher']);
  const causes = () => slot.seatOf(watcher).entry.causes.map(({ offset }) => offset);
  take(slot, at(7).slice(0, 2), foresight);
  expect(causes()).toEqual([1, 7, 8]);
  take(slot, at(7).slice(2), foresight);
  expect(causes()).toEqual([]);
  expect(slot.seatOf(own).entry.causes).toEqual([]);
});

test('who has another state, other causes or other calls may have something to say', () => {
  const entry = newEntry(watcher, session);
  const { core } = entry;
  expect(decidesTheSame(entry, { ...entry, core: { ...core, recent: ['trn'] } })).toBe(true);
  for (const other of [
    { ...entry, state: { seen: 0 } },
    { ...entry, causes: [] },
    { ...entry, broken: { code: 'FOLD_THREW', message: 'no' } },
    { ...entry, core: { ...core, calls: {} } },
    { ...entry, core: { ...core, failed: [] } },
    { ...entry, core: { ...core, meta: { ...core.meta } } },
  ])
    expect(decidesTheSame(entry, other)).toBe(false);
});
