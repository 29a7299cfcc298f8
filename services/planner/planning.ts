/** Plans that a model makes: what it is asked, how its answer is read, and what goes back to it. */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition, Planning } from '../../schemas/definitions/plan.ts';
import { type Draft, event, json } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { workersOf } from '../chassis/catalog/plan-agents.ts';
import type { PlanViolation } from '../chassis/catalog/plan-violation.ts';
import type { Violation } from '../chassis/catalog/problem.ts';
import { definitionReaders } from '../chassis/catalog/schema.ts';
import { completePlan } from '../chassis/catalog/written.ts';
import { memberWhere } from '../chassis/expressions/template.ts';
import { callId } from '../chassis/protocol/ids.ts';
import { type PlanningState, type PlanRequest, plannerAgent } from './state.ts';

/** A plan with a model that makes its tasks. */
export type Shell = PlanDefinition & Readonly<{ planning: Planning }>;

export const isShell = (plan: PlanDefinition): plan is Shell => plan.planning !== undefined;

export type Asking = Readonly<{
  session: string;
  catalog: PinnedCatalog;
  plan: Shell;
  request: PlanRequest;
  /** What was known before this question. */
  known: PlanningState | undefined;
  violations: readonly PlanViolation[];
}>;

/** The next question: the goal first, then what was wrong with the last answer. */
export function askForPlan(at: Asking): Draft {
  const first = (at.known?.answers ?? 0) === 0;
  return first ? askModel(at, ...firstMessages(at)) : askModel(at, complaint(at.violations));
}

/** The next question of the one conversation in which a session is planned. */
export function askModel(at: Omit<Asking, 'violations'>, ...messages: JsonObject[]): Draft {
  const { session, catalog, plan, known } = at;
  const { model, outputTokensMax, timeoutMs } = plan.planning;
  const step = (known?.answers ?? 0) + 1;
  const data = {
    call: callId(session, plannerAgent, (known?.calls ?? 0) + 1),
    ...{ agent: plannerAgent, task: 'planning', attempt: 1, step, agentName: plannerAgent },
    model: firstModel(Object.hasOwn(catalog.models, model) ? catalog.models[model] : model, model),
    ...{ outputTokensMax, timeoutMs, tools: [] },
  };
  const content = { messages: json(messages as JsonValue) };
  return event(
    'model.requested',
    data,
    step === 1 ? { ...content, input: json(inputOf(at)) } : content,
  );
}

/** Fallbacks are the gateway's, which learns them with the plan that is accepted: here the first one is asked. */
const firstModel = (route: string | readonly string[] | undefined, alias: string): string =>
  (typeof route === 'string' ? route : route?.[0]) ?? alias;

const agentsOf = ({ catalog, plan }: Omit<Asking, 'violations'>): JsonObject[] =>
  plan.planning.agents.map(({ agent, pool }) => ({
    agent,
    pool,
    description: catalog.agents[agent]?.description ?? '',
  }));

const inputOf = (at: Omit<Asking, 'violations'>): JsonObject => ({
  goal: at.request.goal ?? null,
  inputs: at.request.inputs,
  context: at.request.context ?? null,
  agents: agentsOf(at),
  ...budgetOf(at),
});

/** What the goal may cost, for plans of a form that looks at it. */
function budgetOf({ plan, request: { budgetNanoUsd } }: Omit<Asking, 'violations'>): JsonObject {
  return plan.planning.form === undefined || budgetNanoUsd === undefined ? {} : { budgetNanoUsd };
}

function firstMessages(at: Asking): JsonObject[] {
  const { guidance, tasksMax } = at.plan.planning;
  const lines = [
    'You take a goal apart into tasks for agents. Answer with one JSON object and nothing else:',
    '{"tasks": [{"id": "…", "agent": "…", "needs": ["…"], "input": {…}}]}',
    'An id is a letter, then letters, digits, - or _. A task begins when all tasks that it needs have ended.',
    'A text in input that starts with = is a JSONata expression over goal, inputs, context and tasks.ID,',
    'the output of a task that it needs (with backticks round an id that has a hyphen).',
    `At most ${tasksMax} tasks. Tasks that do not need one another run side by side.`,
    ...(guidance === '' ? [] : [guidance]),
    'The agents:',
    ...agentsOf(at).map(({ agent, description }) => `- ${agent}: ${description}`),
  ];
  const { goal, inputs, context } = inputOf(at);
  return [
    { role: 'system', text: lines.join('\n') },
    { role: 'user', text: JSON.stringify({ goal, inputs, context, ...budgetOf(at) }) },
  ];
}

export function complaint(violations: readonly PlanViolation[]): JsonObject {
  const lines = violations.map(({ where, reason, fix }) => `- ${where}: ${reason} ${fix}`);
  const text = `That plan cannot run:\n${lines.join('\n')}\nAnswer with the whole plan again, corrected.`;
  return { role: 'user', text };
}

const fenced = /^```[a-z]*\s*\n([\s\S]*?)\n?```$/i;

const placed = ({ path, reason, fix }: Violation): PlanViolation => ({
  where: path.reduce<string>(memberWhere, '') || 'plan',
  reason,
  fix,
});

const noObject: PlanViolation = {
  where: 'plan',
  reason: 'The answer is not one JSON object.',
  fix: 'Answer with {"tasks": […]} and nothing else.',
};

/** The answer as JSON, for the log; text where it is none. */
export function answerValue(answer: string): JsonValue {
  const body = answer.trim();
  try {
    return JSON.parse(fenced.exec(body)?.[1] ?? body) as JsonValue;
  } catch {
    // The parser's own words differ from release to release of the runtime, and would break replay.
    return answer;
  }
}

/** The plan that the answer makes of the shell, or why it makes none. */
export function planOf(
  plan: Shell,
  answer: JsonValue,
  known: PlanningState,
): PlanDefinition | readonly PlanViolation[] {
  if (typeof answer !== 'object' || answer === null || !('tasks' in answer)) return [noObject];
  const { tasks, output } = answer as JsonObject;
  const { name, version, description, planning, replan, progress } = plan;
  const written = { name, version, description, tasks: withPools(planning, tasks ?? null) };
  const file = output === undefined ? written : { ...written, output };
  const read = definitionReaders().plan(file as JsonValue);
  if ('violations' in read) return read.violations.map(placed);
  const made = completePlan(read.value);
  const kept = output === undefined ? plan.output : made.output;
  const own = { inputs: plan.inputs, planning, output: kept };
  const told = progress === undefined ? {} : { progress };
  const whole = { ...made, ...own, ...told, ...(replan === undefined ? {} : { replan }) };
  const outside = [...foreign(planning, whole), ...tooDear(whole, known)];
  return outside.length > 0 ? outside : whole;
}

/** Tasks that may spend more than the goal has. */
function tooDear(
  { tasks }: PlanDefinition,
  { budgetNanoUsd: has }: PlanningState,
): PlanViolation[] {
  if (has === undefined) return [];
  return tasks.flatMap(({ id, budgetNanoUsd = 0 }, index) => {
    if (budgetNanoUsd <= has) return [];
    const where = `tasks[${index}].budgetNanoUsd`;
    const reason = `Task "${id}" may spend ${budgetNanoUsd} nano-USD; the goal has ${has}.`;
    return [{ where, reason, fix: 'Give it less, or leave it out.' }];
  });
}

/** An agent works in the pool that the plan names for it. */
function withPools({ agents }: Planning, tasks: JsonValue): JsonValue {
  if (!Array.isArray(tasks)) return tasks;
  return (tasks as readonly JsonValue[]).map((task) => {
    if (typeof task !== 'object' || task === null || Array.isArray(task) || 'pool' in task)
      return task;
    const { agent } = task as JsonObject;
    const pool = agents.find((one) => one.agent === agent)?.pool;
    return pool === undefined ? task : { ...task, pool };
  });
}

/** Agents that the plan does not allow, and tasks above its number. */
function foreign({ agents, tasksMax }: Planning, { tasks }: PlanDefinition): PlanViolation[] {
  const names = agents.map(({ agent }) => agent).join(', ');
  const unknown = tasks.flatMap((task, index) =>
    workersOf(task).flatMap(({ agent, path }) => {
      if (agents.some((one) => one.agent === agent)) return [];
      const where = ['tasks', index, ...path, 'agent'].reduce<string>(memberWhere, '');
      const reason = `The agent "${agent}" may not be used.`;
      return [{ where, reason, fix: `Use one of: ${names}.` }];
    }),
  );
  if (tasks.length <= tasksMax) return unknown;
  const reason = `There are ${tasks.length} tasks; at most ${tasksMax} are allowed.`;
  return [...unknown, { where: 'tasks', reason, fix: 'Make fewer of them.' }];
}
