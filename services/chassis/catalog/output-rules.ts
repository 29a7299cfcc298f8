/** What a schema cannot say of how a plan's results become one. */

import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import { sourceViolations } from './expression-rules.ts';
import { type CatalogNames, under, unknownName } from './known-names.ts';
import type { Violation } from './problem.ts';

/** Every rule that `output` breaks; paths begin at it. */
export function outputViolations(plan: PlanDefinition, catalog: CatalogNames): Violation[] {
  const { kind, vote, synthesis } = plan.output;
  const voters = plan.output.tasks?.length ?? plan.tasks.length;
  return [
    ...paired(kind, 'vote', vote),
    ...paired(kind, 'synthesis', synthesis),
    ...(vote?.of === undefined ? [] : sourceViolations(vote.of, ['vote', 'of'])),
    ...(vote !== undefined && plan.planning === undefined && vote.quorum > voters
      ? [unreachable(vote.quorum, voters)]
      : []),
    ...(synthesis === undefined || synthesis.model.includes('/')
      ? []
      : unknownName(synthesis.model, catalog.models, 'model').map(under('synthesis', 'model'))),
  ];
}

function paired(kind: string, name: 'vote' | 'synthesis', value: object | undefined): Violation[] {
  if ((kind === name) === (value !== undefined)) return [];
  if (value === undefined) {
    const reason = `The kind is ${name}, and nothing says how.`;
    return [{ path: ['kind'], reason, fix: `Add ${name}.` }];
  }
  const reason = `The kind is ${kind}: "${name}" means nothing.`;
  return [{ path: [name], reason, fix: `Remove it, or write kind: ${name}.` }];
}

function unreachable(quorum: number, voters: number): Violation {
  const reason = `A quorum of ${quorum} cannot be reached by ${voters} tasks.`;
  return { path: ['vote', 'quorum'], reason, fix: `Use at most ${voters}.` };
}
