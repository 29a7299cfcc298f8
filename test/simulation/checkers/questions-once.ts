import type { SeenEvent } from '../../../schemas/event.ts';
import { addressOf } from '../../../services/chassis/protocol/service-logic.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Checker } from './violation.ts';

const rule =
  'every question is settled once, and every answer counts once or is refused with a reason';

type Counts = Map<string, string[]>;

function put(counts: Counts, key: string, what: string): void {
  counts.set(key, [...(counts.get(key) ?? []), what]);
}

/** By question and by answer: what the log says became of them. */
function fatesOf(events: readonly SeenEvent[]) {
  const questions: Counts = new Map();
  const answers: Counts = new Map();
  for (const event of events) {
    if (event.type === 'person.settled') {
      put(questions, event.data.question, event.data.outcome);
      if (event.data.answer !== undefined) put(answers, event.data.answer, 'counts');
    }
    if (event.type === 'person.answer-refused') put(answers, event.data.answer, event.data.because);
  }
  return { questions, answers };
}

/** How far whoever closed the session had read; undefined where it is not closed. */
function closedFrom({ lines }: SessionHistory): number | undefined {
  for (const { body, step } of lines)
    if (body.kind === 'turn' && step.events.some(({ type }) => type === 'session.closed'))
      return body.baseOffset;
  return undefined;
}

function questionFates(history: SessionHistory): string[] {
  const events = history.lines.flatMap(({ step }) => step.events);
  const { questions } = fatesOf(events);
  return events.flatMap((event) => {
    if (event.type !== 'person.asked') return [];
    const fates = questions.get(event.data.question) ?? ['nothing'];
    const isOne = fates.length === 1 && fates[0] !== 'nothing';
    return isOne ? [] : [`question ${event.data.question} came to ${fates.join(' and ')}`];
  });
}

/** One that was still on its way when the session closed came to nothing. */
function answerFates(history: SessionHistory, readTo: number): string[] {
  const { answers } = fatesOf(history.lines.flatMap(({ step }) => step.events));
  return history.lines.flatMap(({ step, offset }) =>
    step.events.flatMap((event) => {
      if (event.type !== 'person.answered') return [];
      const fates = answers.get(addressOf(event)) ?? [];
      if (fates.length === 1 || (fates.length === 0 && offset > readTo)) return [];
      return [`answer ${addressOf(event)} came to ${fates.join(' and ') || 'nothing'}`];
    }),
  );
}

/** Of sessions that are over; where a service failed, nobody says what it would have said. */
export const questionsOnce: Checker = ({ history }) =>
  [...history.sessions.values()].flatMap((one) => {
    const readTo = closedFrom(one);
    const events = one.lines.flatMap(({ step }) => step.events);
    if (readTo === undefined || events.some(({ type }) => type === 'decision.failed')) return [];
    return [...questionFates(one), ...answerFates(one, readTo)].map((found) => ({
      rule,
      detail: `${one.session}: ${found}`,
    }));
  });
