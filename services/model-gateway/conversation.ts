/**
 * The context of each agent's model, folded from what the log says is new. A request says all that
 * is new since the last answer, so a request that is made again after a failure replaces what the
 * failed one said.
 */

import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { canonical } from '../chassis/protocol/hash.ts';
import type { ModelMessage } from './providers/port.ts';

/**
 * `said` is what an answer closed; `asked` is what no answer was given to yet; `input` is the
 * agent's.
 */
export type Conversation = Readonly<{
  said: readonly ModelMessage[];
  asked: readonly ModelMessage[];
  input: JsonValue;
}>;

export const emptyConversation: Conversation = { said: [], asked: [], input: null };

export function ask(known: Conversation, seen: SeenEvent<'model.requested'>): Conversation {
  const asked = bodyOf(seen.content.messages, []) as unknown as readonly ModelMessage[];
  return { ...known, asked, input: bodyOf(seen.content.input, known.input) };
}

export function answer(known: Conversation, seen: SeenEvent<'model.completed'>): Conversation {
  const said = [...known.said, ...known.asked, assistantMessage(bodyOf(seen.content.message))];
  return { ...known, said, asked: [] };
}

/** The answer as a message of the conversation, with whatever else the provider wants back. */
function assistantMessage(body: JsonValue): ModelMessage {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return {
      role: 'assistant',
      text: typeof body === 'string' ? body : canonical(body),
      toolCalls: [],
    };
  }
  return { text: '', toolCalls: [], ...body, role: 'assistant' } as ModelMessage;
}

export const messagesOf = ({ said, asked }: Conversation): readonly ModelMessage[] => [
  ...said,
  ...asked,
];
