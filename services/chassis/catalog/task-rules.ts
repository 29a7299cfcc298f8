/** What a schema cannot say of a task that is made of others: fan-outs, reviews, loops. */

import type { FanOut, TaskDefinition } from '../../../schemas/definitions/plan.ts';
import { limits } from '../../../schemas/limits.ts';
import { expressionViolations, sourceViolations } from './expression-rules.ts';
import { type CatalogNames, duplicates, under, unknownName } from './known-names.ts';
import { workersOf } from './plan-agents.ts';
import type { Violation } from './problem.ts';

/** Every rule that the task's pattern breaks; paths begin at the task. */
export function patternViolations(task: TaskDefinition, catalog: CatalogNames): Violation[] {
  const patterns = (['fanOut', 'review', 'loop'] as const).filter((name) => task[name]);
  const [first, second] = patterns;
  return [
    ...(second === undefined ? [] : [twoPatterns(String(first), second)]),
    ...(first === undefined ? [] : longId(task)),
    ...workersOf(task)
      .slice(1)
      .flatMap(({ pool, agent, path }) => [
        ...unknownName(pool, catalog.pools, 'pool').map(under(...path, 'pool')),
        ...unknownName(agent, catalog.agents, 'agent').map(under(...path, 'agent')),
      ]),
    ...fanOutViolations(task.fanOut).map(under('fanOut')),
    ...reviewViolations(task).map(under('review')),
    ...loopViolations(task).map(under('loop')),
  ];
}

function twoPatterns(first: string, second: string): Violation {
  const reason = `A task has one of fanOut, review and loop; this one has ${first} and ${second}.`;
  return { path: [second], reason, fix: 'Make two tasks of it.' };
}

/** Its branches, rounds and iterations are called after it. */
function longId({ id }: TaskDefinition): Violation[] {
  if (id.length <= limits.compositeIdCharactersMax) return [];
  const reason = `The id has ${id.length} characters.`;
  return [{ path: ['id'], reason, fix: `Use at most ${limits.compositeIdCharactersMax}.` }];
}

function fanOutViolations(fanOut: FanOut | undefined): Violation[] {
  if (fanOut === undefined) return [];
  const { over, branches, itemsMax, substitute } = fanOut;
  const both = (over === undefined) === (branches === undefined);
  const one = 'Say either "over" (a list) or "branches" (names).';
  return [
    ...(both ? [{ path: [], reason: 'A fan-out needs one of over and branches.', fix: one }] : []),
    ...(itemsMax > limits.fanOutItemsMax ? [tooWide(itemsMax)] : []),
    ...quorumViolations(fanOut),
    ...duplicates(
      (branches ?? []).map(({ id }) => id),
      'branch',
    ).map(under('branches')),
    ...expressionViolations(over ?? null, ['over']),
    ...expressionViolations(substitute ?? null, ['substitute']),
    ...(branches ?? []).flatMap(({ input }, index) =>
      expressionViolations(input ?? null, ['branches', index, 'input']),
    ),
  ];
}

function tooWide(itemsMax: number): Violation {
  const reason = `A fan-out of ${itemsMax} branches is above the limit of ${limits.fanOutItemsMax}.`;
  return { path: ['itemsMax'], reason, fix: 'Give each branch more than one item.' };
}

function quorumViolations({ until, quorum, branches }: FanOut): Violation[] {
  if (until !== 'quorum') {
    if (quorum === undefined) return [];
    const reason = `A quorum means nothing with until: ${until}.`;
    return [{ path: ['quorum'], reason, fix: 'Remove it, or write until: quorum.' }];
  }
  if (quorum === undefined) {
    const reason = 'Nothing says how many branches are a quorum.';
    return [{ path: ['until'], reason, fix: 'Add quorum.' }];
  }
  if (branches === undefined || quorum <= branches.length) return [];
  const reason = `A quorum of ${quorum} cannot be reached by ${branches.length} branches.`;
  return [{ path: ['quorum'], reason, fix: `Use at most ${branches.length}.` }];
}

function reviewViolations({ review }: TaskDefinition): Violation[] {
  if (review === undefined) return [];
  return [
    ...expressionViolations(review.input, ['input']),
    ...sourceViolations(review.accepted, ['accepted']),
    ...expressionViolations(review.remarks, ['remarks']),
  ];
}

/** A goal can go to one loop only; paths begin at the plan. */
export function oneLoopForGoals(tasks: readonly TaskDefinition[]): Violation[] {
  const woken = tasks.flatMap(({ loop }, at) => (loop?.wake.goalsOfKey === true ? [at] : []));
  const [, second] = woken;
  if (second === undefined) return [];
  const reason = 'Goals of the key wake another loop of this plan already.';
  const fix = 'Leave wake.goalsOfKey to one of them.';
  return [{ path: ['tasks', second, 'loop', 'wake', 'goalsOfKey'], reason, fix }];
}

function loopViolations({ loop }: TaskDefinition): Violation[] {
  if (loop === undefined) return [];
  if (loop.exit.when !== undefined) return sourceViolations(loop.exit.when, ['exit', 'when']);
  if (Object.keys(loop.exit).length > 0) return [];
  const reason = 'This loop has no exit: it would run for ever.';
  const fix = 'Add exit with at least one of when, iterationsMax, deadlineMs, budgetNanoUsd.';
  return [{ path: [], reason, fix }];
}
