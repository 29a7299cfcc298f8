/**
 * The fold of questions to people. An answer that fits is kept with its question; what ends the waiting is
 * `person.settled`, which the pool decides once for each question.
 */

import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { askPerson } from '../chassis/catalog/person-tool.ts';
import { memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { answerOf, choicesOf, refusalOf } from '../chassis/effects/questions.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { withVerdict } from './recovery.ts';
import type { AgentEntry, Failure, Question, Reply, ToolCallEntry, WaitingTimer } from './state.ts';

type Part = Partial<AgentEntry>;
type Settled = SeenEvent<'person.settled'>;

/** The agent after it asked. A question that it asked by a call is one of its calls. */
export function askedPerson(entry: AgentEntry, seen: SeenEvent<'person.asked'>): Part {
  const { question: id, about, step, amountNanoUsd } = seen.data;
  const question: Question = {
    ...{ about, text: textOf(seen.content.question), escalations: 0 },
    ...choicesOf(seen),
    ...(amountNanoUsd === undefined ? {} : { amountNanoUsd }),
  };
  const { usage, tools, calls, questions = {} } = entry;
  const asked = { questions: withMember(questions, id, question), calls: calls + 1 };
  if (about !== 'question') return asked;
  const call: ToolCallEntry = { call: id, step, tool: askPerson };
  const place = tools.findIndex((one) => one.call === '');
  return {
    ...asked,
    tools: place < 0 ? [...tools, call] : tools.with(place, call),
    usage: { ...usage, steps: Math.max(usage.steps, step), toolCalls: usage.toolCalls + 1 },
  };
}

const withQuestion = ({ questions = {} }: AgentEntry, id: string, question: Question): Part => ({
  questions: withMember(questions, id, question),
});

const questionOf = ({ questions = {} }: AgentEntry, id: string): Question | undefined =>
  memberOf(questions, id);

/** The agent after a question of its timed out with one person and went to the next; undefined where nothing changes. */
export function escalatedPerson(entry: AgentEntry, seen: SeenEvent<'person.escalated'>) {
  const { question: id, count } = seen.data;
  const known = questionOf(entry, id);
  if (known === undefined) return undefined;
  const { timer: _over, ...question } = known;
  return withQuestion(entry, id, { ...question, escalations: count });
}

/** The agent after the timer of a question was set, fired or was taken back; undefined where nothing changes. */
export function timedPerson(
  entry: AgentEntry,
  id: string,
  timer: WaitingTimer | undefined,
): Part | undefined {
  const known = questionOf(entry, id);
  if (known === undefined) return undefined;
  const { timer: _before, ...question } = known;
  return withQuestion(entry, id, timer === undefined ? question : { ...question, timer });
}

/** The agent after somebody answered; undefined where the answer does not count. */
export function answeredPerson(entry: AgentEntry, seen: SeenEvent<'person.answered'>) {
  const { question: id, decision, answeredBy } = seen.data;
  const question = questionOf(entry, id);
  if (question === undefined || refusalOf(question, seen) !== undefined) return undefined;
  const { reason } = seen.content ?? {};
  const reply: Reply = {
    ...{ decision, answeredBy, answer: answerOf(seen) },
    ...(reason === undefined ? {} : { reason: textOf(reason) }),
  };
  return withQuestion(entry, id, { ...question, answer: addressOf(seen), reply });
}

const failures: Readonly<Record<'timed-out' | 'withdrawn', Omit<Failure, 'retryable'>>> = {
  'timed-out': {
    code: 'PERSON_TIMED_OUT',
    class: 'timeout',
    message: 'Nobody answered the question in time.',
  },
  withdrawn: {
    code: 'QUESTION_WITHDRAWN',
    class: 'cancelled',
    message: 'The question was withdrawn before anybody answered.',
  },
};

function resultOf({ reply }: Question, { content }: Settled): JsonValue {
  if (reply === undefined) return { decision: 'default', answer: bodyOf(content?.answer, null) };
  const { decision, answeredBy, answer, reason } = reply;
  return { decision, answer, by: answeredBy, ...(reason === undefined ? {} : { reason }) };
}

function endOf(question: Question, seen: Settled): Pick<ToolCallEntry, 'result' | 'failure'> {
  const { outcome } = seen.data;
  if (outcome === 'answered' || outcome === 'default') return { result: resultOf(question, seen) };
  return { failure: { ...failures[outcome], retryable: false } };
}

/** The agent after a person allowed more: the call that was refused for its costs is made again. */
export function raisedBudget({ raisedNanoUsd = 0, model }: AgentEntry, byNanoUsd: number): Part {
  const { failure } = model;
  return {
    raisedNanoUsd: raisedNanoUsd + byNanoUsd,
    ...(failure === undefined
      ? {}
      : { model: { ...model, failure: { ...failure, pardoned: true } } }),
  };
}

const isRefused = ({ reply }: Question): boolean =>
  reply === undefined || reply.decision === 'denied';

/** The agent after a question of its was settled. */
export function settledPerson(entry: AgentEntry, seen: Settled): Part {
  const { question: id, outcome } = seen.data;
  const known = questionOf(entry, id);
  if (known === undefined) return {};
  // Decided before the answer was read: what was decided stands.
  const { reply: _late, ...unanswered } = known;
  const question = outcome === 'answered' ? known : unanswered;
  const questions = withoutMember(entry.questions ?? {}, id);
  if (question.about === 'failure') return { questions, ...withVerdict(entry, question, seen) };
  if (question.about !== 'question')
    return { questions, ...(isRefused(question) ? { raiseRefused: true } : {}) };
  const end = endOf(question, seen);
  const tools = entry.tools.map((one) => (one.call === id ? { ...one, ...end } : one));
  return { questions, tools };
}
