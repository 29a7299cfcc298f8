import type { FakeModelAnswer } from '../../support/memory-models.ts';
import { type Dice, diceOf } from './dice.ts';

/** The model of the plans that a model makes (thought-of.yaml). */
export const planningModel = 'scripted/planner';

const taskOf = (dice: Dice, id: string, more: object = {}): object =>
  dice.chance(0.6)
    ? { id, agent: 'flaky', input: { name: id }, attemptsMax: 1, timeoutMs: 4_000, ...more }
    : { id, agent: 'echoer', input: { said: id }, timeoutMs: 4_000, ...more };

const wrong: readonly string[] = [
  'I would begin with a good night.',
  JSON.stringify({ tasks: [{ id: 'a', agent: 'nobody', input: {} }] }),
  JSON.stringify({ tasks: [{ id: 'a', agent: 'echoer', needs: ['b'], input: {} }] }),
];

/** A plan or the rest of one, good or bad. Ids are new with each answer: the conversation is longer then. */
export function planSaid(seed: number, messages: number): FakeModelAnswer {
  const dice = diceOf('planning', seed, messages);
  const afterMs = dice.between(1, 400);
  if (dice.chance(0.35)) return { afterMs, text: dice.pick(wrong) };
  const id = (name: string): string => `${name}-${messages}`;
  const tasks = [
    taskOf(dice, id('first')),
    taskOf(dice, id('beside')),
    taskOf(dice, id('last'), { needs: [id('first')] }),
  ];
  return { afterMs, text: JSON.stringify({ tasks: tasks.slice(0, dice.between(1, 3)) }) };
}
