/**
 * What a pool decides about questions to people: asking, asking somebody else too, and what became of it. Nothing runs
 * while a person is asked: the wait is a question in the state, and maybe a timer.
 */

import type { AgentDefinition, ModelAgent, PersonPolicy } from '../../schemas/definitions/agent.ts';
import { type Draft, event, json, text } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { askPerson, askPersonTool } from '../chassis/catalog/person-tool.ts';
import { sortedEntries } from '../chassis/effects/member.ts';
import { valueProblem } from '../chassis/value-problems.ts';
import { dollars } from './model-limits.ts';
import type { PersonRequest, ToolRequest } from './move.ts';
import {
  type AgentEntry,
  type Failure,
  type PoolState,
  personTimerOf,
  type Question,
} from './state.ts';

/** What is asked. `step` is the agent's. */
export type Asking = Readonly<{
  about: 'question' | 'budget' | 'failure';
  step: number;
  question: string;
  choices?: readonly string[];
  modelCallId?: string;
  amountNanoUsd?: number;
}>;

const noPolicy: PersonPolicy = { escalateTo: [] };

/** Whether a call is a proper question; anything else goes to the guard, which says what is wrong with it. */
export const isQuestion = (
  { person, tools }: AgentDefinition,
  { tool, arguments: given }: ToolRequest,
): boolean =>
  person !== undefined &&
  tool === askPerson &&
  tools.includes(tool) &&
  valueProblem(askPersonTool.inputSchema, given, 'the arguments') === undefined;

/** The question that a call asks. */
export function askingOf({ step, modelCallId, arguments: given }: ToolRequest): Asking {
  const { question, choices } = given as JsonObject;
  return {
    ...{ about: 'question', step, question: String(question) },
    ...(choices === undefined ? {} : { choices: choices as readonly string[] }),
    ...(modelCallId === undefined ? {} : { modelCallId }),
  };
}

/** Asks; `id` is the question's, and of the call that asks it. */
export function askDrafts(
  { agent, entry, definition, state, nowMs }: Asked,
  id: string,
  asking: Asking,
): Draft[] {
  const { task, attempt, name: agentName } = entry;
  const { question, choices, ...what } = asking;
  const { to, timeoutMs } = definition.person ?? noPolicy;
  const dueAtMs = timeoutMs === undefined ? undefined : nowMs + timeoutMs;
  const data = {
    ...{ question: id, agent, task, attempt, agentName, ...what, ...rootOf(state) },
    ...(to === undefined ? {} : { to }),
    ...(dueAtMs === undefined ? {} : { dueAtMs }),
  };
  const content = {
    question: text(question),
    ...(choices === undefined ? {} : { choices: json([...choices]) }),
  };
  return [event('person.asked', data, content), ...timerDrafts(id, 0, dueAtMs)];
}

/** Whose question it is. */
type Asked = Readonly<{
  agent: string;
  entry: AgentEntry;
  definition: AgentDefinition;
  state: PoolState;
  nowMs: number;
}>;

/** Said in a child session only. */
const rootOf = ({ root }: PoolState) => (root === undefined ? {} : { root });

const timerDrafts = (id: string, count: number, dueAtMs: number | undefined): Draft[] =>
  dueAtMs === undefined ? [] : [event('timer.set', { timer: personTimerOf(id, count), dueAtMs })];

const cancelTimer = ({ timer }: Question): Draft[] =>
  timer === undefined || timer.fired ? [] : [event('timer.cancelled', { timer: timer.timer })];

function answered(at: Asked, id: string, question: Question): Draft[] {
  const { reply, answer = '', amountNanoUsd } = question;
  if (reply === undefined) return [];
  const { decision, answeredBy } = reply;
  const { agent, entry } = at;
  const settled = { question: id, agent, ...rootOf(at.state) };
  const data = { ...settled, outcome: 'answered', decision, answeredBy, answer } as const;
  const { task } = entry;
  const raised =
    amountNanoUsd === undefined || decision === 'denied'
      ? []
      : [event('budget.raised', { agent, task, question: id, byNanoUsd: amountNanoUsd })];
  return [...cancelTimer(question), event('person.settled', data), ...raised];
}

function outOfTime(at: Asked, id: string, question: Question): Draft[] {
  const { escalateTo, timeoutMs = 0, default: standIn } = at.definition.person ?? noPolicy;
  const { agent, nowMs } = at;
  const settled = { question: id, agent, ...rootOf(at.state) };
  const to = escalateTo[question.escalations];
  if (to !== undefined) {
    const count = question.escalations + 1;
    const dueAtMs = nowMs + timeoutMs;
    const data = { ...settled, to, dueAtMs, count };
    const content = {
      question: text(question.text),
      ...(question.choices === undefined ? {} : { choices: json([...question.choices]) }),
    };
    return [event('person.escalated', data, content), ...timerDrafts(id, count, dueAtMs)];
  }
  if (standIn === undefined || question.about !== 'question')
    return [event('person.settled', { ...settled, outcome: 'timed-out' })];
  const content = { answer: json(standIn) };
  return [event('person.settled', { ...settled, outcome: 'default' }, content)];
}

/** What is due about the open questions of an agent: an answer is taken, or the time is over. */
export function questionDrafts(at: Asked): Draft[] {
  return sortedEntries(at.entry.questions ?? {}).flatMap(([id, question]) => {
    if (question.reply !== undefined) return answered(at, id, question);
    return question.timer?.fired === true ? outOfTime(at, id, question) : [];
  });
}

/** Before an agent ends that still waits for a person: nobody has to answer any more. */
export function withdrawDrafts(
  agent: string,
  { questions = {} }: AgentEntry,
  state: PoolState,
): Draft[] {
  return sortedEntries(questions).flatMap(([id, question]) => [
    ...cancelTimer(question),
    event('person.settled', { question: id, agent, ...rootOf(state), outcome: 'withdrawn' }),
  ]);
}

const raisable: ReadonlySet<string> = new Set([
  ...['BUDGET_EXHAUSTED', 'TASK_BUDGET_EXHAUSTED', 'COST_LIMIT'],
]);

/** Asks for more money in place of failing, where the agent's template says so and nobody has said no. */
export function moreBudget(
  { name, onError }: ModelAgent,
  { raiseRefused }: AgentEntry,
  { code, message }: Failure,
): PersonRequest | undefined {
  const amountNanoUsd = onError?.budgetAskNanoUsd;
  if (amountNanoUsd === undefined || raiseRefused === true || !raisable.has(code)) return undefined;
  const question =
    `Agent "${name}" has no money left: ${message} May it spend ${dollars(amountNanoUsd)} more? ` +
    'Grant it, or deny it; then the agent fails.';
  return { kind: 'ask-person', about: 'budget', question, amountNanoUsd };
}
