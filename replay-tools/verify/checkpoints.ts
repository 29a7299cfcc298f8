import type { JsonValue } from '../../schemas/json.ts';
import { canonical, sha256 } from '../../services/chassis/protocol/hash.ts';
import type { CheckpointBody, PlacedRecord } from '../../services/chassis/protocol/record.ts';
import { foldWrittenBy, writeEntry } from '../../services/chassis/protocol/saved-entry.ts';
import type { ServiceEntry } from '../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { changesOf } from './changes.ts';
import { differenceAt } from './integrity.ts';
import type { Difference } from './report.ts';

/** Compares a checkpoint with the state that this release folds up to its cursor. */

/** Whether this logic folds, and saves, states as the one did that wrote the checkpoint. */
export const isComparable = (body: CheckpointBody, logic: AnyLogic): boolean =>
  (body.behaviour ?? 1) === logic.behaviour &&
  body.fold === foldWrittenBy(logic) &&
  canonical(body.machines) === canonical(logic.machines);

/**
 * A content's `blob` only says where its body lies: who wrote a record and has not read it back does not know it.
 */
function withoutBlobs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutBlobs);
  if (typeof value !== 'object' || value === null) return value;
  const object = value as Readonly<Record<string, unknown>>;
  const isContent = typeof object['digest'] === 'string' && object['body'] !== undefined;
  const members = Object.entries(object).filter(([name]) => !(isContent && name === 'blob'));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutBlobs(member)]));
}

const isSame = (one: JsonValue | undefined, other: JsonValue): boolean =>
  one !== undefined && canonical(withoutBlobs(one)) === canonical(withoutBlobs(other));

/** What is wrong with what the checkpoint says of its own state. */
export function stateHashDifference(
  record: PlacedRecord,
  body: CheckpointBody,
): Difference | undefined {
  if (body.state.body === undefined) return undefined;
  const actual = sha256(canonical(body.state.body));
  if (actual === body.stateHash) return undefined;
  const message = 'the hash of this checkpoint is not the one of its state';
  const changes = [{ pointer: '/stateHash', expected: body.stateHash, actual }];
  return differenceAt(record, { kind: 'checkpoint', message, changes });
}

/** What differs between the checkpoint and the state at its cursor. */
export function checkpointDifference(
  record: PlacedRecord,
  body: CheckpointBody,
  at: Readonly<{ logic: AnyLogic; entry: ServiceEntry }>,
): Difference | undefined {
  const saved = writeEntry(at.logic, at.entry);
  const actual = sha256(canonical(saved));
  if (actual === body.stateHash || isSame(body.state.body, saved)) return undefined;
  const message = 'this checkpoint is not the state that this release folds up to its cursor';
  const { body: state } = body.state;
  const changes =
    state === undefined
      ? [{ pointer: '/stateHash', expected: body.stateHash, actual }]
      : changesOf(state, saved);
  return differenceAt(record, { kind: 'checkpoint', message, changes });
}
