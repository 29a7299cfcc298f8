import { type DataOf, event, json, text } from '../../../schemas/event.ts';
import { callId } from '../../chassis/protocol/ids.ts';
import { createDice, type Dice } from './dice.ts';
import type { Owner, Script } from './script.ts';

/**
 * What agents of the sample ask people. Its dice are its own, so that the rest of the sample is the
 * same with and without questions.
 */
export type AskingAgent = Readonly<{
  script: Script;
  owner: Owner;
  /** Of the session; says whether it asks. */
  number: number;
  name: string;
  agent: string;
  task: string;
  attempt: number;
  atMs: number;
}>;

const minuteMs = 60_000;
const patienceMs = 45 * minuteMs;
const askedOf = ['support lead', 'accounts'] as const;

/** Whether an agent of this session asks before it goes on. */
export const asksPeople = (number: number): boolean => number % 19 === 5;

/** Whether its question is still open; only sessions that run have such. */
export const waitsForPeople = (number: number, runs: boolean): boolean => runs && number % 2 === 0;

type Asked = AskingAgent & Readonly<{ dice: Dice; question: string; to: string }>;

/** One question and what becomes of it. Returns when the agent goes on; undefined: it still waits. */
export function tellQuestion(asking: AskingAgent, isOpen: boolean): number | undefined {
  const dice = createDice(1_000 + asking.number);
  const question = callId(asking.owner.session, asking.agent, 1_000);
  const at: Asked = { ...asking, dice, question, to: dice.pick(askedOf) };
  ask(at);
  if (isOpen) return undefined;
  const neverAnswered = dice.chance(0.2);
  if (neverAnswered) return settle(at, { afterMs: patienceMs, outcome: 'timed-out' });
  const escalates = dice.chance(0.25);
  if (escalates) escalate(at);
  const afterMs = (escalates ? patienceMs : 0) + dice.between(1, 40) * minuteMs;
  return answer(at, afterMs);
}

function ask({ script, owner, atMs, question, agent, task, attempt, name, to, dice }: Asked): void {
  const budget = { about: 'budget', amountNanoUsd: 50_000_000 } as const;
  const what = dice.chance(0.3) ? budget : ({ about: 'question' } as const);
  const who = { agent, task, attempt, step: 1, agentName: name, to };
  const asked = event(
    'person.asked',
    { question, ...who, ...what, dueAtMs: atMs + patienceMs },
    { question: text('May I?') },
  );
  script.turn(owner, atMs, ['worker-pool', asked]);
}

function escalate({ script, owner, atMs, question, agent }: Asked): void {
  const dueAtMs = atMs + 2 * patienceMs;
  const escalated = event(
    'person.escalated',
    { question, agent, to: 'head of office', dueAtMs, count: 1 },
    { question: text('May I?') },
  );
  script.turn(owner, atMs + patienceMs, ['worker-pool', escalated]);
}

function answer(at: Asked, afterMs: number): number {
  const { script, owner, atMs, question, dice } = at;
  const decision = dice.chance(0.8) ? ('granted' as const) : ('denied' as const);
  const answeredBy = dice.pick(['mary', 'omar', 'li'] as const);
  const said = event('person.answered', { question, decision, answeredBy }, { answer: json('ok') });
  const address = `${script.input(owner, atMs + afterMs, said)}#0`;
  return settle(at, { afterMs, outcome: 'answered', decision, answeredBy, answer: address });
}

type Settled = Omit<DataOf<'person.settled'>, 'question' | 'agent'> & Readonly<{ afterMs: number }>;

function settle({ script, owner, atMs, question, agent }: Asked, { afterMs, ...how }: Settled) {
  const settledAtMs = atMs + afterMs + 15;
  const settled = event('person.settled', { question, agent, ...how });
  script.turn(owner, settledAtMs, ['worker-pool', settled]);
  return settledAtMs;
}
