import type { SeenEvent } from '../../../schemas/event.ts';
import { textOf } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { deadLettersTopic } from '../../../schemas/topics.ts';
import { messageId } from './ids.ts';
import { type AnyLogic, addressOf, type Delivery, type SessionMeta } from './service-logic.ts';

/** CloudEvents type of a dead letter. */
export const deadLetterType = 'longrein.dead-letter.v1';

/** Where what cannot be worked on stands in the log. */
export type LetterOrigin = Readonly<{ topic: string; partition: number; offset: number }>;

/** A letter about a record of a log: the same one, whoever writes it and however often. */
export const letterIdOf = ({ topic, partition, offset }: LetterOrigin): string =>
  messageId(`${topic}/${partition}`, ['dead-letter', String(offset)]);

function failureLetter(failed: SeenEvent<'decision.failed'>, meta: SessionMeta): Delivery[] {
  const { service, code, origin } = failed.data;
  // Those of releases that wrote no letters.
  if (origin === undefined) return [];
  const { session } = meta;
  const { record, ...place } = origin;
  const reason = { code, message: textOf(failed.content.message) };
  const at = new Date(failed.atMs).toISOString();
  const value: JsonObject = { reason, origin: place, session, service, record, at };
  const id = messageId(session, ['dead-letter', addressOf(failed)]);
  return [{ to: 'public', topic: deadLettersTopic, key: session, type: deadLetterType, id, value }];
}

/** All writes to other logs that follow from an event of this service (DESIGN 3.12, 3.14). */
export function deliveriesOf(
  logic: AnyLogic,
  event: SeenEvent,
  meta: SessionMeta,
): readonly Delivery[] {
  if (event.type === 'decision.failed') return failureLetter(event, meta);
  return logic.deliveries?.(event, meta) ?? [];
}
