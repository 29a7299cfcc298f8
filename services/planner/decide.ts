/**
 * The planner: finds the plan that a goal names, checks that the goal may follow it, and pins all
 * that it uses.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { type Draft, event, json } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { sessionFold } from '../../state-machines/session/session-machine.ts';
import type { PlanViolation } from '../chassis/catalog/plan-violation.ts';
import { hashOf, sha256 } from '../chassis/protocol/hash.ts';
import type { DecideInput, ServiceLogic } from '../chassis/protocol/service-logic.ts';
import { type Asking, answerValue, askForPlan, isShell, planOf, type Shell } from './planning.ts';
import { reviewPlan } from './review.ts';
import { revise } from './revision.ts';
import { evolve, initialState, needsPlan, type PlannerState, type PlanningState } from './state.ts';

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
  if (state.revising !== undefined)
    return revise(state, { session: input.session.session, pools: input.facts.pools ?? [] });
  if (name === undefined || state.request === null) return [];
  const { catalog: given } = state.request;
  if (given !== undefined) return [proposed(given.plan), accepted(given)];
  const attached = input.attachments.catalog;
  if (attached === undefined) return [withoutPlan(name, input.facts)];
  const catalog = attached as unknown as PinnedCatalog;
  const { plan } = catalog;
  if (isShell(plan)) return planWithModel(state, input, { ...catalog, plan });
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

/** Calls of the model per answer that it may give: some fail. */
const callsPerAnswer = 3;

function planWithModel(
  state: PlannerState,
  { session, facts }: DecideInput<PlannerFacts>,
  catalog: PinnedCatalog & Readonly<{ plan: Shell }>,
): readonly Draft[] {
  const { planning: known, request } = state;
  if (request === null || (known !== undefined && known.open !== null)) return [];
  const { plan } = catalog;
  const at = { session: session.session, catalog, plan, request, known };
  if (known === undefined) {
    const violations = reviewPlan(catalog, request, facts.pools);
    if (violations.length > 0) return [rejected(plan.name, 'PLAN_INVALID', violations)];
    return [askForPlan({ ...at, violations: [] })];
  }
  if (known.failure !== undefined) {
    const callsMax = plan.planning.attemptsMax * callsPerAnswer;
    if (known.failure.retryable && known.calls < callsMax)
      return [askForPlan({ ...at, violations: known.violations })];
    return withoutAnswer(state, plan, givenUp(plan, known, [modelFailure(known.failure)]));
  }
  if (known.answer === undefined) return [askForPlan({ ...at, violations: known.violations })];
  return judge({ ...at, known, answer: known.answer }, facts);
}

type Answered = Omit<Asking, 'violations' | 'known'> &
  Readonly<{ known: PlanningState; answer: string }>;

/** Accepts the answer, gives it back with what is wrong, or gives up. */
function judge(at: Answered, facts: PlannerFacts): readonly Draft[] {
  const { catalog, plan, known, answer, request } = at;
  const value = answerValue(answer);
  const head = { plan: plan.name, version: plan.version, origin: 'model' as const };
  const made = planOf(plan, value, known);
  const isPlan = 'tasks' in made;
  const violations = isPlan ? reviewPlan({ ...catalog, plan: made }, request, facts.pools) : made;
  const said = event('plan.proposed', head, { plan: json(value) });
  if (isPlan && violations.length === 0) return [said, accepted({ ...catalog, plan: made })];
  if (known.answers >= plan.planning.attemptsMax) return [said, givenUp(plan, known, violations)];
  const data = {
    plan: plan.name,
    code: 'PLAN_INVALID',
    violations: violations.length,
    again: true,
  };
  const back = event('plan.rejected', data, { violations: json(violations) });
  return [said, back, askForPlan({ ...at, violations })];
}

const modelFailure = ({ code, message }: { code: string; message: string }): PlanViolation => ({
  where: 'planning',
  reason: `The planning model failed (${code}): ${message}`,
  fix: 'Try again later, or name another plan.',
});

/** Says how often the model was asked, and what that cost. */
function givenUp(plan: Shell, known: PlanningState, violations: readonly PlanViolation[]): Draft {
  const { calls, costNanoUsd } = known;
  const times = calls === 1 ? 'once' : `${calls} times`;
  const first: PlanViolation = {
    where: 'planning',
    reason: `The planning model was asked ${times} for ${costNanoUsd} nano-USD and made no plan that can run.`,
    fix: 'What was wrong with its last answer:',
  };
  const all = [first, ...violations];
  const data = { plan: plan.name, code: 'PLANNING_FAILED', violations: violations.length };
  return event(
    'plan.rejected',
    { ...data, attempts: calls, costNanoUsd },
    { violations: json(all) },
  );
}

/**
 * After an answer that went back the session takes a refusal only of a further proposal, and there is none: it says so, or
 * nothing would end the session. Those that planned before forms go on as they did.
 */
function withoutAnswer({ session }: PlannerState, plan: Shell, refusal: Draft): readonly Draft[] {
  if (plan.planning.form === undefined || session.value !== 'rejected') return [refusal];
  const head = { plan: plan.name, version: plan.version, origin: 'model' as const };
  return [event('plan.proposed', head, { plan: json(null) }), refusal];
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

function rejected(plan: string, code: string, violations: readonly PlanViolation[]): Draft {
  const data = { plan, code, violations: violations.length };
  return event('plan.rejected', data, { violations: json(violations) });
}

/** Of models only the planner's own: their calls are known by the state. */
const answered: ReadonlySet<string> = new Set([
  'session.opened',
  'plan.revision-requested',
  'model.completed',
  'model.failed',
  'model.denied',
]);

export { needsPlan } from './state.ts';

import { taskData } from './task-data.ts';

export const plannerLogic: ServiceLogic<PlannerState, PlannerFacts> = {
  name: 'planner',
  behaviour: 1,
  fold: 1,
  machines: { [sessionFold.id]: sha256(sessionFold.definition) },
  initial: () => initialState,
  evolve,
  answers: (seen) => answered.has(seen.type),
  decide,
};
