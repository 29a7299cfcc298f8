import { describe, expect, test } from 'vitest';
import type { SeenEvent } from '../../../../../schemas/event.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import type { CheckpointBody } from '../../../../../services/chassis/protocol/record.ts';
import {
  foldWrittenBy,
  readCheckpoint,
  readsFold,
  writeEntry,
} from '../../../../../services/chassis/protocol/saved-entry.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../../../../services/chassis/protocol/service-logic.ts';
import {
  checkpointBody,
  idleLogic,
  opening,
  session,
  skipped,
  turn,
} from '../../../../support/placed-record.ts';

/** A count, as one release folds it; and as the next does, in an object. */
const older = idleLogic<number>({
  initial: () => 0,
  evolve: (count: number, { type }: SeenEvent) => (type === 'task.skipped' ? count + 1 : count),
});
const newer = idleLogic<{ count: number }>({
  initial: () => ({ count: 0 }),
  evolve: (state, { type }: SeenEvent) =>
    type === 'task.skipped' ? { count: state.count + 1 } : state,
  fold: 2,
  foldWritten: 1,
  downcastState: ({ count }) => count,
  foldsReadable: [1],
  upcastState: (saved) => ({ count: Number(saved) }),
});

const entryOf = (logic: AnyLogic): ServiceEntry =>
  [opening(0), turn(4, [skipped('a'), skipped('b')])].reduce(
    (now, record) => foldEntry(logic, now, { record }),
    newEntry(logic, session),
  );

const saved = (logic: AnyLogic, changes: Partial<CheckpointBody> = {}): CheckpointBody => {
  const body = writeEntry(logic, entryOf(logic)) as JsonValue;
  const state = { digest: 'd', mediaType: 'application/json', bytes: 1, body };
  return checkpointBody({ state, fold: foldWrittenBy(logic), ...changes });
};

describe('a checkpoint', () => {
  test('of the previous fold is read by an upcast', () => {
    const entry = readCheckpoint(newer, saved(older), 'ckp_1');
    expect(entry).toMatchObject({ state: { count: 2 }, root: 'ckp_1', causes: [] });
    expect(entry.core).toEqual(entryOf(newer).core);
  });

  test('is written in the form of the previous release, which goes on from it', () => {
    expect(writeEntry(newer, entryOf(newer))).toEqual(writeEntry(older, entryOf(older)));
    const entry = readCheckpoint(older, saved(newer), 'ckp_1');
    expect(foldEntry(older, entry, { record: turn(5, [skipped('c')]) }).state).toBe(3);
  });

  test('of a fold that is not read leaves the session standing by, its rules known and its state not', () => {
    const ownForm: AnyLogic = {
      ...newer,
      foldWritten: 2,
      downcastState: (state) => state as never,
    };
    const entry = readCheckpoint(older, saved(ownForm, { release: '9.0.0' }), 'ckp_1');
    expect(entry.core.status).toBe('open');
    expect(entry.state).toBe(0);
    expect(entry.standBy).toEqual({
      because: 'a checkpoint of supervisor in fold 2',
      ...{ record: 'ckp_1', offset: 4, release: '9.0.0' },
    });
  });

  test('of another form altogether leaves nothing known', () => {
    const entry = readCheckpoint(older, saved(older, { form: 2 }), 'ckp_1');
    expect(entry.core.status).toBe('unknown');
    expect(entry.standBy?.because).toBe('a checkpoint of form 2');
  });

  test('whose upcast throws is one that cannot be read: no crash, no guess', () => {
    const broken: AnyLogic = {
      ...newer,
      upcastState: () => {
        throw new Error('no count');
      },
    };
    const entry = readCheckpoint(broken, saved(older), 'ckp_1');
    expect(entry.standBy?.because).toBe('a checkpoint of supervisor in fold 1 (no count)');
  });
});

test('a logic reads its own fold and those that it names', () => {
  expect([1, 2, 3].map((fold) => readsFold(newer, fold))).toEqual([true, true, false]);
  expect([1, 2].map((fold) => readsFold(older, fold))).toEqual([true, false]);
  expect([foldWrittenBy(older), foldWrittenBy(newer)]).toEqual([1, 1]);
});
