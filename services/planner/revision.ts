/**
 * The rest of a plan, made anew when a task failed that the plan cannot do without: by a rule of the plan, or by the model
 * that planned. What began stays; the new tasks come in the place of all others. The whole is checked like the first plan.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition, TaskDefinition } from '../../schemas/definitions/plan.ts';
import { type DataOf, type Draft, event, json } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { PlanViolation } from '../chassis/catalog/plan-violation.ts';
import { LongreinError } from '../chassis/errors.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import { hashOf } from '../chassis/protocol/hash.ts';
import { type Asking, answerValue, askModel, complaint, isShell, planOf } from './planning.ts';
import { reviewPlan } from './review.ts';
import { noPlanning, type PlannerState, type Revising } from './state.ts';
import { taskData } from './task-data.ts';

type Asked = NonNullable<Revising['asked']>;

type Revision = Readonly<{
  session: string;
  state: PlannerState;
  revising: Revising;
  asked: Asked;
  pools: readonly string[];
}>;

/** What is due for the revision that was asked for; nothing while a model thinks. */
export function revise(
  state: PlannerState,
  at: Pick<Revision, 'session' | 'pools'>,
): readonly Draft[] {
  const { revising } = state;
  if (revising?.asked == null || state.stopping) return [];
  const of: Revision = { ...at, state, revising, asked: revising.asked };
  const rest = byRule(of);
  if (rest instanceof LongreinError)
    return [
      refused(of, 'REVISION_RULE', [
        { where: 'replan', reason: rest.message, fix: rest.fix ?? '' },
      ]),
    ];
  if (rest !== undefined) return [verdict(of, rest, 'template')];
  if (isShell(revising.catalog.plan)) return byModel(of);
  const reason = `No rule of the plan says what to do when task "${of.asked.task}" fails (${of.asked.code}).`;
  return [refused(of, 'NO_RULE', [{ where: 'replan', reason, fix: 'Add a rule.' }])];
}

/** The tasks of the first rule that holds. */
function byRule({
  revising,
  asked,
}: Revision): readonly TaskDefinition[] | LongreinError | undefined {
  const { plan } = revising.catalog;
  const { task, code, class: kind, message, revision } = asked;
  const scope = { failure: { task, code, class: kind, message }, revision };
  try {
    return plan.replan?.rules.find(({ when }, index) => {
      const where = `plan ${plan.name}, replan.rules[${index}].when`;
      return compileTemplate(`=${when}`, where).evaluate(scope) === true;
    })?.tasks;
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code.startsWith('EXPRESSION_')) return thrown;
    throw thrown;
  }
}

function merged({ revising, asked }: Revision, rest: readonly TaskDefinition[]): PlanDefinition {
  const { plan } = revising.catalog;
  const kept = plan.tasks.filter(({ id }) => asked.kept.includes(id));
  return { ...plan, tasks: [...kept, ...rest] };
}

/** An id that was used stands for what was done under it. */
function repeatedIds(
  { revising, asked }: Revision,
  rest: readonly TaskDefinition[],
): PlanViolation[] {
  const used = [...asked.kept, asked.task, ...(revising.used ?? [])];
  return rest.flatMap(({ id }) => {
    if (!used.includes(id)) return [];
    const reason = `A task "${id}" has begun already.`;
    return [{ where: 'tasks', reason, fix: 'Give the new task another id.' }];
  });
}

function violationsOf(of: Revision, rest: readonly TaskDefinition[]): readonly PlanViolation[] {
  const { catalog, request } = of.revising;
  const plan = merged(of, rest);
  return [...repeatedIds(of, rest), ...reviewPlan({ ...catalog, plan }, request, of.pools)];
}

function verdict(
  of: Revision,
  rest: readonly TaskDefinition[],
  origin: 'template' | 'model',
): Draft {
  const violations = violationsOf(of, rest);
  if (violations.length > 0) return refused(of, 'REVISION_INVALID', violations);
  return revised(of, merged(of, rest), origin);
}

function revised(
  { asked, revising }: Revision,
  plan: PlanDefinition,
  origin: 'template' | 'model',
): Draft {
  const { revision } = asked;
  const catalog: PinnedCatalog = { ...revising.catalog, plan };
  const data: DataOf<'plan.revised'> = {
    ...{ plan: plan.name, version: plan.version, revision, digest: hashOf(catalog), origin },
    tasks: plan.tasks.map(taskData),
  };
  return event('plan.revised', data, { plan: json(plan as unknown as JsonValue) });
}

function refused(
  { revising, asked }: Revision,
  code: string,
  violations: readonly PlanViolation[],
  again = false,
): Draft {
  const { revision } = asked;
  const data = { plan: revising.catalog.plan.name, revision, code, violations: violations.length };
  return event('plan.revision-refused', again ? { ...data, again } : data, {
    violations: json(violations),
  });
}

/** Calls of the model per answer that it may give: some fail. */
const callsPerAnswer = 3;

function byModel(of: Revision): readonly Draft[] {
  const { state, revising, asked } = of;
  const { planning: known = noPlanning } = state;
  const { plan } = revising.catalog;
  if (known.open !== null || !isShell(plan)) return [];
  const { catalog, request } = revising;
  const asking: Omit<Asking, 'violations'> = { session: of.session, catalog, plan, request, known };
  const ask = (violations: readonly PlanViolation[]): Draft =>
    askModel(asking, violations.length === 0 ? question(asked) : complaint(violations));
  const { attemptsMax } = plan.planning;
  if (known.failure !== undefined) {
    const { code, message, retryable } = known.failure;
    if (retryable && known.calls - asked.callsBefore < attemptsMax * callsPerAnswer)
      return [ask(known.violations)];
    const reason = `The planning model failed (${code}): ${message}`;
    return [
      refused(of, 'PLANNING_FAILED', [{ where: 'planning', reason, fix: 'Try again later.' }]),
    ];
  }
  if (known.answer === undefined) return [ask(known.violations)];
  const made = planOf(plan, answerValue(known.answer), known);
  const violations = 'tasks' in made ? violationsOf(of, made.tasks) : made;
  if ('tasks' in made && violations.length === 0)
    return [revised(of, merged(of, made.tasks), 'model')];
  if (known.answers - asked.answersBefore >= attemptsMax)
    return [refused(of, 'PLANNING_FAILED', violations)];
  return [refused(of, 'PLAN_INVALID', violations, true), ask(violations)];
}

const outputCharactersMax = 2_000;

function stays([task, output]: readonly [string, JsonValue]): string {
  const text = JSON.stringify(output);
  const shown =
    text.length <= outputCharactersMax ? text : `${text.slice(0, outputCharactersMax)}…`;
  return `- ${task}: ${shown}`;
}

/** What the model is asked when a task failed: the conversation in which it planned goes on. */
function question({ task, code, message, kept, outputs }: Asked): JsonObject {
  const running = kept.filter((one) => !Object.hasOwn(outputs, one));
  const text = [
    `The task "${task}" failed for good (${code}): ${message}`,
    'Find another way to the goal. What has begun stays, and new tasks may need it:',
    ...Object.entries(outputs).map(stays),
    ...running.map((one) => `- ${one}: still runs`),
    'Answer with {"tasks": […]}: the tasks that come in the place of all others, under new ids.',
  ].join('\n');
  return { role: 'user', text };
}
