/**
 * The planner: finds the plan that a goal names, checks that the goal may follow it, and pins all
 * that it uses.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition, TaskDefinition } from '../../schemas/definitions/plan.ts';
import { type DataOf, type Draft, event, json } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { sessionFold } from '../../state-machines/session/session-machine.ts';
import type { PlanViolation } from '../chassis/catalog/plan-violation.ts';
import { hashOf, sha256 } from '../chassis/protocol/hash.ts';
import type { DecideInput, ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { reviewPlan } from './review.ts';
import { evolve, initialState, needsPlan, type PlannerState } from './state.ts';

/**
 * What the planner knows from outside the log. The plan itself, with all that a session pins, is
 * the attachment `catalog` (a PinnedCatalog); it is absent where there is no such plan, or where
 * its files have problems.
 */
export type PlannerFacts = Readonly<{
  /** Names of all plans and pools. */
  plans: readonly string[];
  pools: readonly string[];
  /** What is wrong with the files of the plan that is needed. */
  problems: readonly PlanViolation[];
}>;

function decide(state: PlannerState, input: DecideInput<PlannerFacts>): readonly Draft[] {
  const name = needsPlan(state);
  if (name === undefined || state.request === null) return [];
  const attached = input.attachments.catalog;
  if (attached === undefined) return [withoutPlan(name, input.facts)];
  const catalog = attached as unknown as PinnedCatalog;
  const violations = reviewPlan(catalog, state.request, input.facts.pools);
  const verdict =
    violations.length === 0 ? accepted(catalog) : rejected(name, 'PLAN_INVALID', violations);
  return [proposed(catalog.plan), verdict];
}

function withoutPlan(name: string, { plans, problems }: PlannerFacts): Draft {
  if (problems.length > 0) return rejected(name, 'PLAN_INVALID', problems);
  const known = [...plans].sort().join(', ');
  const fix = known === '' ? 'There is no plan yet: add one.' : `Name one of: ${known}.`;
  const reason = `There is no plan "${name}".`;
  return rejected(name, 'PLAN_UNKNOWN', [{ where: 'plan', reason, fix }]);
}

function proposed(plan: PlanDefinition): Draft {
  const data = { plan: plan.name, version: plan.version, origin: 'template' as const };
  return event('plan.proposed', data, { plan: json(plan as unknown as JsonValue) });
}

function accepted(catalog: PinnedCatalog): Draft {
  const { plan } = catalog;
  const tasks = plan.tasks.map(taskData);
  const data = { plan: plan.name, version: plan.version, digest: hashOf(catalog), tasks };
  const pinned = catalog as unknown as JsonValue;
  return event('plan.accepted', data, {
    plan: json(plan as unknown as JsonValue),
    catalog: json(pinned),
  });
}

/** The structure of a task; its input template is content. */
function taskData(task: TaskDefinition): DataOf<'plan.accepted'>['tasks'][number] {
  const { id, pool, agent, priority, timeoutMs, attemptsMax, backoffMs, onFailure } = task;
  const limits = { priority, timeoutMs, attemptsMax, backoffMs, onFailure };
  return { id, pool, agent, needs: [...task.needs], ...limits };
}

function rejected(plan: string, code: string, violations: readonly PlanViolation[]): Draft {
  const data = { plan, code, violations: violations.length };
  return event('plan.rejected', data, { violations: json(violations) });
}

export { needsPlan } from './state.ts';

export const plannerLogic: ServiceLogic<PlannerState, PlannerFacts> = {
  name: 'planner',
  behaviour: 1,
  fold: 1,
  machines: { [sessionFold.id]: sha256(sessionFold.definition) },
  initial: () => initialState,
  evolve,
  answers: (seen) => seen.type === 'session.opened',
  decide,
};
