import type { JsonObject } from '../../../schemas/json.ts';
import { deadLettersTopic } from '../../../schemas/topics.ts';
import type { AppendError } from '../log/append-error.ts';
import { deadLetterType, type LetterOrigin, letterIdOf } from '../protocol/dead-letter.ts';
import type { InputBody } from '../protocol/record.ts';
import type { Outlet } from './outlet.ts';
import type { HostPorts } from './ports.ts';

/** What an input is made from, where that stands in another log. */
function originOf({ event }: InputBody): LetterOrigin | undefined {
  const { origin } = event.data as Readonly<{ origin?: LetterOrigin }>;
  return origin;
}

/**
 * An input that the broker will never take: says so, and leaves a dead letter where what it was made from has a place.
 * Its letter is written once by this process; its reader goes on when that is done.
 */
export async function refusedInput(
  input: Readonly<{ body: InputBody; traceparent: string }>,
  { message, refusal }: AppendError,
  parts: Readonly<{ ports: Pick<HostPorts, 'logger'>; outlet: Outlet; wanted: () => boolean }>,
): Promise<void> {
  const { body, traceparent } = input;
  const { session, source, tenant, principal, labels, atMs } = body;
  const fields = { session, event: body.event.type, error: message };
  parts.ports.logger.error(fields, 'input refused for good: it is left out');
  const origin = originOf(body);
  if (origin === undefined) return;
  const { goalId } = body.event.data as Readonly<{ goalId?: string }>;
  const code = refusal === 'too-large' ? 'INPUT_TOO_LARGE' : 'INPUT_REFUSED';
  const at = new Date(atMs).toISOString();
  const named = goalId === undefined ? {} : { goalId };
  const value: JsonObject = { reason: { code, message }, origin, session, ...named, at };
  await parts.outlet.deliver(
    {
      ...{ to: 'public', topic: deadLettersTopic, key: goalId ?? session, type: deadLetterType },
      ...{ id: letterIdOf(origin), value },
    },
    {
      event: { type: body.event.type, atMs },
      ...{ service: source, traceparent, wanted: parts.wanted },
      session: { session, tenant, principal, labels },
    },
  );
}
