import { type DataOf, event, type SeenEvent } from '../../schemas/event.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import { memberOf, withMember } from '../chassis/effects/member.ts';
import { choicesOf, refusalOf } from '../chassis/effects/questions.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { chainOf } from './delegation.ts';
import type { AttemptName, KnownQuestion, SupervisorState, TaskState } from './state.ts';

/**
 * What the supervisor knows of questions to people: which answers do not count, which it records; and for how long a
 * task waited, which is no time of its own.
 */

type Stray = DataOf<'person.answer-refused'>;
export type PersonEvent = SeenEvent<
  | 'person.asked'
  | 'person.escalated'
  | 'person.answered'
  | 'person.settled'
  | 'person.answer-refused'
>;

const withStray = (state: SupervisorState, stray: Stray): SupervisorState => ({
  ...state,
  strays: [...(state.strays ?? []), stray],
});

const withTask = (
  state: SupervisorState,
  id: string,
  change: (task: TaskState) => TaskState,
): SupervisorState => ({
  ...state,
  tasks: state.tasks.map((task) => (task.definition.id === id ? change(task) : task)),
});

function asked(state: SupervisorState, seen: SeenEvent<'person.asked'>): SupervisorState {
  const { question, task, attempt } = seen.data;
  const [own, ...above] = chainOf(state, { task, attempt });
  const told = above.length === 0 ? {} : { above };
  const known: KnownQuestion = { task, ...choicesOf(seen), ...told };
  const next = { ...state, questions: withMember(state.questions ?? {}, question, known) };
  const chain = own === undefined ? [] : [own, ...above];
  return chain.reduce<SupervisorState>(
    (all, one) => withTask(all, one.task, asleep(one, seen.atMs)),
    next,
  );
}

/** The time of the attempt stands still from now on. */
const asleep =
  ({ attempt }: AttemptName, atMs: number) =>
  (one: TaskState): TaskState => {
    const { waiting } = one;
    const sinceMs = waiting?.attempt === attempt ? waiting.sinceMs : atMs;
    const questions = waiting?.attempt === attempt ? waiting.questions + 1 : 1;
    return { ...one, waiting: { attempt, questions, sinceMs } };
  };

function answered(state: SupervisorState, seen: SeenEvent<'person.answered'>): SupervisorState {
  const { question, answeredBy } = seen.data;
  const known = memberOf(state.questions ?? {}, question);
  const answer = addressOf(seen);
  const because = refusalOf(known, seen);
  if (known === undefined || because !== undefined)
    return withStray(state, {
      question,
      answeredBy,
      answer,
      because: because ?? 'unknown-question',
    });
  const next = { ...known, answer, answeredBy };
  return { ...state, questions: withMember(state.questions ?? {}, question, next) };
}

/** The time that it waited is given back, where the attempt still runs. */
function awake(task: TaskState, atMs: number): TaskState {
  const { waiting, ...rest } = task;
  if (waiting === undefined) return task;
  if (waiting.questions > 1)
    return { ...rest, waiting: { ...waiting, questions: waiting.questions - 1 } };
  const runs = task.machine.value === 'scheduled' && attemptsOf(task.machine) === waiting.attempt;
  return runs ? { ...rest, dueAtMs: task.dueAtMs + Math.max(0, atMs - waiting.sinceMs) } : rest;
}

function settled(state: SupervisorState, seen: SeenEvent<'person.settled'>): SupervisorState {
  const { question, outcome } = seen.data;
  const known = memberOf(state.questions ?? {}, question);
  if (known === undefined || known.outcome !== undefined) return state;
  const { task, answer, answeredBy = '', above = [] } = known;
  const questions = withMember(state.questions ?? {}, question, { task, outcome });
  const own = withTask({ ...state, questions }, task, (one) => awake(one, seen.atMs));
  const next = above.reduce(
    (all, { task: id, attempt }) =>
      withTask(all, id, (one) => (one.waiting?.attempt === attempt ? awake(one, seen.atMs) : one)),
    own,
  );
  if (answer === undefined || outcome === 'answered') return next;
  // It came while the pool had decided already.
  const because = outcome === 'withdrawn' ? 'withdrawn' : 'timed-out';
  return withStray(next, { question, answeredBy, answer, because });
}

function refused(state: SupervisorState, { data }: SeenEvent<'person.answer-refused'>) {
  const strays = (state.strays ?? []).filter(({ answer }) => answer !== data.answer);
  return { ...state, strays };
}

/** The state after an event about a question. */
export function evolveQuestion(state: SupervisorState, seen: PersonEvent): SupervisorState {
  switch (seen.type) {
    case 'person.asked':
      return asked(state, seen);
    case 'person.answered':
      return answered(state, seen);
    case 'person.settled':
      return settled(state, seen);
    case 'person.answer-refused':
      return refused(state, seen);
    default:
      return state;
  }
}

/** Says of every answer that does not count why it does not. */
export function refuseStrays(proposal: Proposal<SupervisorState>): void {
  for (const stray of proposal.state.strays ?? [])
    proposal.write(event('person.answer-refused', stray));
}
