import type { JsonValue } from '../../schemas/json.ts';
import { type Goal, MemoryWorld, type MemoryWorldOptions, type Published } from './memory-world.ts';

/** One goal for each way in which a session can go, run to its end in one simulated world. */

const goals = {
  simple: { goal: 'Say hello.', plan: 'echo', inputs: { said: 'hello' }, labels: { team: 'blue' } },
  retried: { goal: 'Try until it works.', plan: 'flaky', inputs: { name: 'once' } },
  failing: { goal: 'Try in vain.', plan: 'flaky', inputs: { name: 'never' } },
  cancelled: { goal: 'Wait for ever.', plan: 'count', inputs: { counter: 'c', waitMs: 60_000 } },
  late: { goal: 'Take too long.', plan: 'hurry' },
  denied: { goal: 'Count wrongly.', plan: 'count', inputs: { counter: 'Not A Name' } },
  asked: { goal: 'Ask.', plan: 'ask', inputs: { question: 'What is new?' } },
  keyed: { goal: 'Wait for your turn.', plan: 'echo', key: 'one-at-a-time' },
  queued: { goal: 'Wait behind.', plan: 'echo', key: 'one-at-a-time' },
  refused: { goal: 'Follow no plan.', plan: 'none' },
} satisfies Record<string, Goal>;

export type Scenario = keyof typeof goals;
export const scenarios = Object.keys(goals) as readonly Scenario[];

export type RecordedWorld = Readonly<{
  world: MemoryWorld;
  goals: Readonly<Record<Scenario, Published>>;
}>;

const nameOf = (given: JsonValue): string =>
  String((given as Readonly<Record<string, JsonValue>>)['name']);

/** Tools and models that make the scenarios go as they are named. */
export function scenarioOptions(): Pick<MemoryWorldOptions, 'tools' | 'model'> {
  let tries = 0;
  return {
    tools: {
      'test.flaky': ({ arguments: given }) => {
        const name = nameOf(given);
        if (name === 'once') tries += 1;
        const fails = name === 'never' || tries < 2;
        return fails ? { failure: { message: `No ${name} today.` } } : { result: { name } };
      },
    },
    model: ({ messages }, count) => {
      const answers = messages.filter(({ role }) => role === 'assistant').length;
      if (count === 1) return { failure: { code: 'OVERLOADED', retryable: true } };
      if (answers === 0)
        return {
          text: '',
          calls: [{ name: 'test.echo', arguments: { said: 'x'.repeat(50_000) } }],
        };
      if (answers === 1) return { text: '', calls: [{ name: 'test.absent', arguments: {} }] };
      return { text: 'Nothing much.' };
    },
  };
}

/** Runs every scenario. Sessions are closed afterwards, hosts still run. */
export async function recordWorld(options: MemoryWorldOptions = {}): Promise<RecordedWorld> {
  const world = await MemoryWorld.start({ seed: 7, ...scenarioOptions(), ...options });
  const published = scenarios.map((name) => {
    const goal: Goal = { id: name, tenant: 'acme', ...goals[name] };
    return [name, world.publishGoal(goal)] as const;
  });
  await world.clock.run(1_000);
  world.publishCancel('cancelled', 'changed my mind', 'acme');
  if (!(await world.runUntilDone())) throw new Error('the scenarios did not come to their end');
  await world.clock.run(2_000);
  return { world, goals: Object.fromEntries(published) as RecordedWorld['goals'] };
}
