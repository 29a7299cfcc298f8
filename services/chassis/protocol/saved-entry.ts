import type { SeenEvent } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { toError } from '../errors.ts';
import type { EventRecord } from './event-record.ts';
import { releaseLanguage } from './language.ts';
import type { CheckpointBody } from './record.ts';
import {
  newEntry,
  restoreEntry,
  type SavedEntry,
  type ServiceEntry,
  saveEntry,
} from './service-fold.ts';
import type { AnyLogic } from './service-logic.ts';

/**
 * Entries as checkpoints hold them, across releases (DESIGN 3.11, "Upgrades").
 *
 * A release writes checkpoints in a form that the previous one reads, and reads those of the previous one. What it
 * cannot read it never decides by.
 */

/**
 * Form of all that is in a checkpoint but the service's own state. Members that may be missing do not change it. A
 * checkpoint names it where it is not 1.
 */
export const entryForm = 1;

/** The fold version that this logic's checkpoints are written in. */
export const foldWrittenBy = (logic: AnyLogic): number => logic.foldWritten ?? logic.fold;

/** Whether a checkpoint of this fold version can be a root for this logic. */
export const readsFold = (logic: AnyLogic, fold: number): boolean =>
  fold === logic.fold || logic.foldsReadable?.includes(fold) === true;

/** An entry as a checkpoint of this logic holds it. */
export function writeEntry(logic: AnyLogic, entry: ServiceEntry): JsonValue {
  if (logic.downcastState === undefined) return saveEntry(entry);
  return saveEntry({ ...entry, state: logic.downcastState(entry.state) });
}

function upcastOutbox(logic: AnyLogic, outbox: ServiceEntry['outbox']): ServiceEntry['outbox'] {
  const { language = releaseLanguage } = logic;
  const pairs = Object.entries(outbox).map(([address, event]) => {
    const now = language.understand(event as unknown as EventRecord);
    const isOlder = now !== undefined && now.version !== event.version;
    return [address, isOlder ? ({ ...event, ...now } as SeenEvent) : event];
  });
  return Object.fromEntries(pairs) as ServiceEntry['outbox'];
}

/** Why a checkpoint cannot be read by this logic, as a clause. */
function obstacleOf(logic: AnyLogic, { fold, form = 1 }: CheckpointBody): string | undefined {
  if (form > entryForm) return `a checkpoint of form ${form}`;
  return readsFold(logic, fold) ? undefined : `a checkpoint of ${logic.name} in fold ${fold}`;
}

/** What is known of the session without the service's state; nothing, where that cannot be read either. */
function withoutState(logic: AnyLogic, body: CheckpointBody): ServiceEntry {
  const entry = newEntry(logic, body.session);
  const saved = body.state.body as unknown as Partial<SavedEntry> | null | undefined;
  const core = (body.form ?? 1) <= entryForm ? saved?.core : undefined;
  return typeof core?.status === 'string' ? { ...entry, core } : entry;
}

/**
 * The entry that a checkpoint holds. Where this logic cannot read it, the entry stands by: it knows no state. Never
 * throws.
 */
export function readCheckpoint(logic: AnyLogic, body: CheckpointBody, id: string): ServiceEntry {
  const because = obstacleOf(logic, body);
  const standBy = { record: id, offset: body.cursor.offset, release: body.release };
  if (because !== undefined)
    return { ...withoutState(logic, body), standBy: { because, ...standBy } };
  const entry = restoreEntry(body.state.body ?? null, id);
  try {
    const outbox = upcastOutbox(logic, entry.outbox);
    if (logic.upcastState === undefined || body.fold === logic.fold) return { ...entry, outbox };
    const state = logic.upcastState(entry.state as JsonValue, body.fold);
    return { ...entry, state, outbox };
  } catch (thrown) {
    const { message } = toError(thrown);
    const text = `a checkpoint of ${logic.name} in fold ${body.fold} (${message})`;
    return { ...withoutState(logic, body), standBy: { because: text, ...standBy } };
  }
}
