/**
 * The context of an agent's model, folded from what the log says is new. A request says all that is new since the last
 * answer, so a request that is made again after a failure replaces what the failed one said.
 *
 * A **step** is one answer and what the agent said to it. What a request leaves out (`omit`) is said in whole steps,
 * because providers refuse results without their calls; it stays out, and `note` stands in its place.
 */

import { bodyOf, type SeenEvent } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { canonical } from '../protocol/hash.ts';
import type { ModelMessage } from './messages.ts';

/**
 * `said` is what an answer closed; `asked` is what no answer was given to yet; `input` is the agent's. Where something was
 * left out, `steps` are those that are in `said`, `step` is the one that was asked for, and `note` stands for the others.
 */
export type Conversation = Readonly<{
  said: readonly ModelMessage[];
  asked: readonly ModelMessage[];
  input: JsonValue;
  steps?: readonly number[];
  step?: number;
  note?: string;
}>;

export const emptyConversation: Conversation = { said: [], asked: [], input: null };

type Step = Readonly<{ step: number; messages: readonly ModelMessage[] }>;
type Parts = Readonly<{ first: readonly ModelMessage[]; steps: readonly Step[] }>;

/** What was said before the first answer, and the steps; `asked` is not part of it. */
export function partsOf({ said, steps: numbers }: Conversation): Parts {
  const first: ModelMessage[] = [];
  const steps: ModelMessage[][] = [];
  for (const message of said) {
    if (message.role === 'assistant') steps.push([message]);
    else (steps.at(-1) ?? first).push(message);
  }
  const numbered = steps.map((messages, index) => ({
    step: numbers?.[index] ?? index + 1,
    messages,
  }));
  return { first, steps: numbered };
}

function without(known: Conversation, omit: readonly number[], note: string): Conversation {
  const { first, steps } = partsOf(known);
  const kept = steps.filter(({ step }) => !omit.includes(step));
  const said = [...first, ...kept.flatMap(({ messages }) => messages)];
  return { ...known, said, steps: kept.map(({ step }) => step), note };
}

/** A request of an agent. One for a summary or for vectors adds nothing: it is not part of the conversation. */
export function ask(known: Conversation, seen: SeenEvent<'model.requested'>): Conversation {
  const { omit, summarises, embeds } = seen.data;
  if (summarises !== undefined || embeds !== undefined) return known;
  const asked = bodyOf(seen.content.messages, []) as unknown as readonly ModelMessage[];
  const said = { ...known, asked, input: bodyOf(seen.content.input, known.input) };
  const now = known.steps === undefined ? said : { ...said, step: seen.data.step };
  if (omit === undefined || omit.length === 0) return now;
  const note = String(bodyOf(seen.content.note, ''));
  return { ...without(now, omit, note), step: seen.data.step };
}

/** An answer to the newest request. */
export function answer(known: Conversation, seen: SeenEvent<'model.completed'>): Conversation {
  const message = assistantMessage(bodyOf(seen.content.message));
  const said = [...known.said, ...known.asked, message];
  if (known.steps === undefined) return { ...known, said, asked: [] };
  return { ...known, said, asked: [], steps: [...known.steps, known.step ?? 0] };
}

/** The answer as a message of the conversation, with whatever else the provider wants back. */
function assistantMessage(body: JsonValue): ModelMessage {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const text = typeof body === 'string' ? body : canonical(body);
    return { role: 'assistant', text, toolCalls: [] };
  }
  return { text: '', toolCalls: [], ...body, role: 'assistant' } as ModelMessage;
}

/** All that is sent with the newest request, oldest first. */
export function messagesOf(known: Conversation): readonly ModelMessage[] {
  const { said, asked, note } = known;
  if (note === undefined || note === '') return [...said, ...asked];
  const { first } = partsOf(known);
  const noted: ModelMessage = { role: 'user', text: note };
  return [...first, noted, ...said.slice(first.length), ...asked];
}

/** What a request for a summary says: its own messages, then the steps in words. */
export function summaryMessages(
  known: Conversation,
  { summarises = [] }: Readonly<{ summarises?: readonly number[] }>,
  asked: readonly ModelMessage[],
): readonly ModelMessage[] {
  const steps = partsOf(known).steps.filter(({ step }) => summarises.includes(step));
  const earlier = known.note === undefined || known.note === '' ? [] : [known.note];
  const said = steps.flatMap(({ step, messages }) => [
    `Step ${step}`,
    ...messages.flatMap(linesOf),
  ]);
  return [...asked, { role: 'user', text: [...earlier, ...said].join('\n\n') }];
}

/** A message as text: a summary is made by a model that was not offered the tools. */
function linesOf(message: ModelMessage): string[] {
  switch (message.role) {
    case 'assistant': {
      const calls = message.toolCalls.map(
        (call) => `Call of ${call.name}: ${canonical(call.arguments)}`,
      );
      return [...(message.text === '' ? [] : [`Assistant: ${message.text}`]), ...calls];
    }
    case 'tool': {
      const { result, toolName, isError } = message;
      const said = typeof result === 'string' ? result : canonical(result);
      return [`${isError ? 'Error' : 'Result'} of ${toolName}: ${said}`];
    }
    default:
      return [`User: ${message.text}`];
  }
}
