import { effectiveEvents, judgeSession } from '../../replay-tools/read/session.ts';
import type { SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { MemoryWorld, type MemoryWorldOptions, type Published } from './memory-world.ts';
import { catalogWith, WorldProof } from './world-proof.ts';
import { sourceFromWorld } from './world-session.ts';

/** Plans whose one task fans out over `items` into child sessions, and worlds that run them. */

export type SpreadPlan = Readonly<{
  /** Members of the fan-out besides `over`. */
  fanOut?: string;
  agent?: string;
  /** Further members of the task. */
  task?: string;
  items?: string;
}>;

export const spreadFiles = (plan: SpreadPlan = {}): Readonly<Record<string, string>> => ({
  'plans/spread.yaml': `
name: spread
version: 1.0.0
description: Many branches in child sessions.
inputs:
  items: { type: array }
tasks:
  - id: each
    pool: test
    agent: ${plan.agent ?? 'flaky'}
    ${plan.task ?? 'attemptsMax: 1'}
    input: ${plan.items ?? '{ name: =item }'}
    fanOut: { over: =inputs.items, itemsMax: 1000, spread: { above: 3, perSession: 2 }, ${plan.fanOut ?? 'parallelMax: 8'} }
`,
});

export const spreadWorld = (
  plan: SpreadPlan,
  options: MemoryWorldOptions = {},
  files: Readonly<Record<string, string>> = {},
): Promise<MemoryWorld> =>
  MemoryWorld.start({
    partitions: 4,
    catalog: catalogWith({ ...spreadFiles(plan), ...files }),
    ...options,
  });

export const publishSpread = (
  world: MemoryWorld,
  items: readonly unknown[],
  goal: JsonObject = {},
): Published =>
  world.publishGoal({
    goal: 'Each of them.',
    plan: 'spread',
    inputs: { items } as JsonObject,
    ...goal,
  });

/** The session of the child with this ordinal. */
export const childOf = ({ session }: Published, ordinal: number): Published => {
  const goalId = `each/${ordinal}`;
  const child = sessionId('default', session, goalId);
  return { goalId, session: child, goalLog: '' };
};

/** Proofs of the parent and of so many children: every decision computed again is the recorded one. */
export async function familyProof(world: MemoryWorld, parent: Published, children: number) {
  const all = Array.from({ length: children }, (_, index) => childOf(parent, index + 1));
  return {
    parent: await WorldProof.of(world, parent),
    children: await Promise.all(all.map((one) => WorldProof.of(world, one))),
  };
}

/** Events of a session that count, whatever its end. */
export async function eventsOf(world: MemoryWorld, session: string): Promise<readonly SeenEvent[]> {
  return effectiveEvents(await judgeSession(await sourceFromWorld(world, session)));
}
