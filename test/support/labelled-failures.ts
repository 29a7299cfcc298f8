import type { History } from '../../replay-tools/read/history.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { type Goal, MemoryWorld, type MemoryWorldOptions, type Published } from './memory-world.ts';

/**
 * Sessions that fail, each with a label: the event that made it inevitable, which is never the first `*.failed` one.
 */

type Wanted = Readonly<{ type: string; holds?(data: Readonly<Record<string, unknown>>): boolean }>;

export type LabelledFailure = Readonly<{
  name: string;
  goal: Goal;
  options?: MemoryWorldOptions;
  /** What else happens while it runs. */
  meanwhile?(world: MemoryWorld, published: Published): Promise<void>;
  /** The newest event that fits. */
  label: Wanted;
}>;

const overloaded = { failure: { code: 'OVERLOADED', retryable: true } };

const answering =
  (
    ...answers: readonly ReturnType<NonNullable<MemoryWorldOptions['model']>>[]
  ): NonNullable<MemoryWorldOptions['model']> =>
  (_request, count) =>
    answers[Math.min(count, answers.length) - 1] ?? { text: '' };

const throwing = (service: string, type: string): NonNullable<MemoryWorldOptions['change']> =>
  function change(logic: AnyLogic): AnyLogic {
    if (logic.name !== service) return logic;
    return {
      ...logic,
      decide(state, input) {
        if (input.causes.some((cause) => cause.type === type)) throw new Error('not a number');
        return logic.decide(state, input);
      },
    };
  };

export const labelledFailures: readonly LabelledFailure[] = [
  {
    name: 'the last of three attempts',
    goal: { goal: 'Try in vain.', plan: 'flaky' },
    options: { tools: { 'test.flaky': () => ({ failure: { message: 'No.' } }) } },
    label: { type: 'tool.failed' },
  },
  {
    name: 'an answer that wants tools for ever, after a model call that failed and was repeated',
    goal: { goal: 'Ask.', plan: 'ask' },
    options: {
      // Other arguments each time: an agent that repeats itself is stopped earlier.
      model: (_request, count) =>
        count === 1
          ? overloaded
          : { text: '', calls: [{ name: 'test.echo', arguments: { said: count } }] },
    },
    label: { type: 'model.completed' },
  },
  {
    name: 'arguments that the goal brought, refused by the guard',
    goal: { goal: 'Count wrongly.', plan: 'count', inputs: { counter: 'Not A Name' } },
    label: { type: 'session.opened' },
  },
  {
    name: 'a call that does not come back in the time of its task',
    goal: { goal: 'Take too long.', plan: 'hurry' },
    label: { type: 'tool.claimed' },
  },
  {
    name: 'a call that does not come back in the time of the session',
    goal: {
      goal: 'Wait.',
      plan: 'count',
      inputs: { counter: 'c', waitMs: 50_000 },
      timeoutMs: 9_000,
    },
    label: { type: 'tool.claimed' },
  },
  {
    name: 'a budget that an answer spent',
    goal: { goal: 'Ask.', plan: 'ask', budgetNanoUsd: 3_000 },
    options: {
      model: answering({ text: '', calls: [{ name: 'test.echo', arguments: { said: 1 } }] }),
    },
    label: { type: 'model.completed' },
  },
  {
    name: 'somebody who does not want it any more, after a failure that was answered',
    goal: { goal: 'Ask.', plan: 'ask' },
    options: { model: answering(overloaded, { afterMs: 15_000, text: 'Late.' }) },
    async meanwhile(world, { goalId }) {
      await world.clock.run(3_000);
      world.publishCancel(goalId);
    },
    label: { type: 'session.cancel-requested' },
  },
  {
    name: 'a call that must not be made twice, whose runner is gone',
    goal: { goal: 'Count.', plan: 'count', inputs: { counter: 'c', waitMs: 0 } },
    options: {
      housekeepingMs: 20,
      tools: { 'test.count': () => ({ afterMs: 4_000, result: { counter: 1 } }) },
    },
    async meanwhile(world) {
      await world.clock.run(60_000, () => world.started.some(({ name }) => name === 'test.count'));
      world.crash('host-1');
      await world.startHost('host-2', ['all']);
    },
    label: { type: 'tool.unknown' },
  },
  {
    name: 'an event that a service cannot decide on',
    goal: { goal: 'Say hello.', plan: 'echo' },
    options: { change: throwing('tool-guard', 'tool.requested') },
    label: { type: 'tool.requested' },
  },
];

/** Runs it to its end, in a world of its own. */
export async function runLabelled({ goal, options, meanwhile }: LabelledFailure) {
  const world = await MemoryWorld.start({ seed: 31, ...options });
  const published = world.publishGoal(goal);
  await meanwhile?.(world, published);
  if (!(await world.runUntilDone())) throw new Error('the session did not come to its end');
  return { world, ...published };
}

/** The address of the event that the label means. */
export function labelledIn(history: History, { label }: LabelledFailure): string | undefined {
  const fits = history.entries.filter(
    ({ event }) =>
      event.type === label.type &&
      (label.holds?.(event.data as Readonly<Record<string, unknown>>) ?? true),
  );
  return fits.at(-1)?.address;
}
