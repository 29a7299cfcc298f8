/**
 * Answers that a fork brings with it, where its models are live and its tools are not: from the record of the session that
 * it was forked from, or from mocks. A call of such a session is never run.
 */

import { bodyOf, type SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { canonical } from '../protocol/hash.ts';

/** One answer. `once`: it stands for one call of the record, and is used up by one call of the fork. */
export type PreparedAnswer = Readonly<{
  from: 'record' | 'mock';
  tool: string;
  /** The agent that it is for: itself where it is recorded; itself or its task where it is a mock. */
  agent?: string;
  /** What the arguments must be; of a mock, members that they must have. */
  arguments?: JsonValue;
  once?: boolean;
  result?: JsonValue;
  failure?: Readonly<{ code: string; message: string; class?: string; retryable?: boolean }>;
}>;

/** What a session answers its tools with; `used` are the numbers of answers that are used up. */
export type AnswerBook = Readonly<{ list: readonly PreparedAnswer[]; used: readonly number[] }>;

/** A call as an answer is looked up by. */
export type AskedCall = Readonly<{ tool: string; agent: string; arguments: JsonValue }>;

/** The answers that an opening brings; undefined where its tools are live. */
export function answersOf(forked: SeenEvent<'session.forked'>): AnswerBook | undefined {
  const { answers } = forked.content;
  if (answers === undefined) return undefined;
  return { list: bodyOf(answers) as unknown as readonly PreparedAnswer[], used: [] };
}

const hasMembers = (given: JsonValue, wanted: JsonValue): boolean =>
  typeof given === 'object' &&
  given !== null &&
  Object.entries(wanted as JsonObject).every(
    ([name, value]) => canonical((given as JsonObject)[name]) === canonical(value),
  );

function fits(answer: PreparedAnswer, { tool, agent, arguments: given }: AskedCall): boolean {
  const { from, agent: meant, arguments: wanted } = answer;
  if (answer.tool !== tool) return false;
  const isMeant =
    meant === undefined || meant === agent || (from === 'mock' && agent.startsWith(`${meant}.`));
  if (!isMeant || wanted === undefined) return isMeant;
  return from === 'mock' ? hasMembers(given, wanted) : canonical(given) === canonical(wanted);
}

/** The number of the answer for this call, -1 where nobody has one; and the book after it. */
export function takeAnswer(book: AnswerBook, call: AskedCall): readonly [number, AnswerBook] {
  const used = new Set(book.used);
  const found = book.list.findIndex((one, number) => !used.has(number) && fits(one, call));
  const isUsedUp = book.list[found]?.once === true;
  return [found, isUsedUp ? { ...book, used: [...book.used, found] } : book];
}
