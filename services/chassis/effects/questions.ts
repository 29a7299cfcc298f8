/**
 * What becomes of an answer to a question: one rule for the pool that asked and for the supervisor that says which
 * answers do not count. Pure.
 *
 * Q1 The first answer that fits counts, and only until the question is settled.
 */

import { bodyOf, type DataOf, type SeenEvent } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';

/** `answer` is the address of the one that counts so far; `outcome` is there once the question is settled. */
export type AskedQuestion = Readonly<{
  choices?: readonly string[];
  answer?: string;
  outcome?: DataOf<'person.settled'>['outcome'];
}>;

export type AnswerRefusal = DataOf<'person.answer-refused'>['because'];

/** The choices of a question; undefined where any answer will do. */
export function choicesOf({ content }: SeenEvent<'person.asked'>): Pick<AskedQuestion, 'choices'> {
  if (content.choices === undefined) return {};
  return { choices: bodyOf(content.choices, []) as unknown as readonly string[] };
}

/** What was answered; the decision itself where nothing more was said. */
export const answerOf = ({ data, content }: SeenEvent<'person.answered'>): JsonValue =>
  content?.answer === undefined ? data.decision : bodyOf(content.answer);

function afterOutcome(outcome: NonNullable<AskedQuestion['outcome']>): AnswerRefusal {
  if (outcome === 'answered') return 'already-answered';
  return outcome === 'withdrawn' ? 'withdrawn' : 'timed-out';
}

/** Why an answer does not count; undefined where it does. */
export function refusalOf(
  question: AskedQuestion | undefined,
  seen: SeenEvent<'person.answered'>,
): AnswerRefusal | undefined {
  if (question === undefined) return 'unknown-question';
  if (question.outcome !== undefined) return afterOutcome(question.outcome);
  if (question.answer !== undefined) return 'already-answered';
  const { choices } = question;
  const isFree = seen.data.decision !== 'answered' || choices === undefined;
  return isFree || choices.includes(String(answerOf(seen))) ? undefined : 'not-a-choice';
}
