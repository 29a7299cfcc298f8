import { toError } from '../../services/chassis/errors.ts';
import { foreseeing } from '../../services/chassis/protocol/fusing.ts';
import type { PlacedRecord, TurnBody } from '../../services/chassis/protocol/record.ts';
import type { ServiceEntry } from '../../services/chassis/protocol/service-fold.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { type Blindness, hasGap, type ServiceLines } from './service-lines.ts';

/** What a turn knew beyond its base: the records of its batch that it foresaw, in their order (DESIGN 3.5). */

export type Foreseen = ServiceEntry | Blindness | Readonly<{ unknown: string }>;

/**
 * The state at the base with what the turn foresaw; why it cannot be had, where a content of that is nowhere or this
 * release cannot fold it; or the id of a record that does not count before the turn.
 */
export function foreseenBy(
  body: TurnBody,
  at: Readonly<{ logic: AnyLogic; entry: ServiceEntry; lines: ServiceLines }>,
): Foreseen {
  let { entry } = at;
  for (const id of body.foreseen) {
    const record = at.lines.recordBefore(id);
    if (record === undefined) return { unknown: id };
    const next = foldOne(at.logic, entry, record);
    if ('kind' in next) return next;
    entry = next;
  }
  return entry;
}

function foldOne(
  logic: AnyLogic,
  entry: ServiceEntry,
  record: PlacedRecord,
): ServiceEntry | Blindness {
  try {
    const next = foreseeing(logic, entry, [record]);
    const { broken } = next;
    if (broken === undefined || entry.broken !== undefined || !hasGap(record)) return next;
    return { kind: 'missing', message: broken.message, record };
  } catch (thrown) {
    const kind = hasGap(record) ? 'missing' : 'broken';
    return { kind, message: toError(thrown).message, record };
  }
}
