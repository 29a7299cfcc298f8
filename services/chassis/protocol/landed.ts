import type { PlacedRecord } from './record.ts';
import { type CoreStep, placeOfInput, type SessionCore, withRecent } from './session-core.ts';

/**
 * A step that was folded at the place that its record was thought to get, at the place that it got. Only places differ:
 * `core` is the one there that `before` was thought to be.
 */
export function landedAt(
  { step, before }: Readonly<{ step: CoreStep; before: SessionCore }>,
  core: SessionCore,
  { header, body, offset }: PlacedRecord,
): CoreStep {
  if (step.core === before) return { ...step, core };
  const added = body.kind === 'turn' ? header.id : placeOfInput(header.id, offset);
  const recent = step.core.recent === before.recent ? core.recent : withRecent(core, added);
  return { ...step, core: { ...step.core, recent, last: { ...step.core.last, offset } } };
}
