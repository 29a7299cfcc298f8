import { type ContentDraft, type DataOf, json, type SeenEvent } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import type { RecoveryPolicy, TemplateRules } from '../chassis/catalog/recovery-policy.ts';
import { memberOf } from '../chassis/effects/member.ts';
import {
  finalCodes,
  messageCharactersMax,
  type Tried,
  triedMax,
} from '../chassis/effects/tried.ts';
import {
  isComposite,
  type Ladder,
  type LadderStep,
  type SupervisorState,
  type TaskFailure,
  type TaskState,
} from './state.ts';

/**
 * What follows from a failed attempt of an agent whose template says how it is healed: restarts, then whoever takes
 * over, then a person. The plan's own count of attempts has no say then.
 *
 * H1 Each step is made as often as the policy says: a task has at most 1 + restart + replaceWith + escalate attempts.
 * H2 Nobody begins anew after a call that must not be made twice; only who goes on from what is recorded follows it.
 * H3 Nothing follows what a person has decided.
 */

export type Rung = Readonly<{ step: LadderStep; count: number; agent?: string; model?: string }>;

const noSteps = { restart: 0, replace: 0, escalate: 0 } as const;
const noLadder: Omit<Ladder, 'step'> & { step?: LadderStep } = { counts: noSteps, tried: [] };

/** Who works for the task now: the plan's agent, or who took over. */
export const workerOf = ({ definition, ladder }: TaskState): string =>
  ladder?.agent ?? definition.agent;

/** The policy of the plan's agent: it holds also for who takes over. */
export function policyOf(state: SupervisorState, task: TaskState): RecoveryPolicy | undefined {
  if (state.recoveries === undefined || isComposite(task)) return undefined;
  return memberOf(state.recoveries, task.definition.agent);
}

/**
 * The template whose breaker has a say in the next attempt: that of the plan's agent, while it works. What a person has
 * decided is made whatever the breaker says.
 */
export function templateOf(state: SupervisorState, task: TaskState): TemplateRules | undefined {
  if (task.ladder?.step === 'escalate' || workerOf(task) !== task.definition.agent)
    return undefined;
  const policy = policyOf(state, task);
  return task.delegation !== undefined && policy?.given !== true ? undefined : policy?.template;
}

/** H2: whether the same agent may work on. */
const mayGoOn = ({ resumes }: RecoveryPolicy, { acted }: TaskState): boolean =>
  acted !== true || resumes;

/** Nobody knows whether the call happened, or there is no money: to do the same again helps nobody. */
const isHopeless = ({ class: kind }: Pick<TaskFailure, 'class'>): boolean =>
  kind === 'unknown-outcome' || kind === 'budget';

const isOver = ({ code, class: kind }: TaskFailure): boolean =>
  finalCodes.has(code) || kind === 'cancelled';

function replacement(policy: RecoveryPolicy, task: TaskState, used: number): Rung | undefined {
  for (const [index, one] of policy.replaceWith.entries()) {
    if (index < used) continue;
    const allowed = 'model' in one ? mayGoOn(policy, task) : task.acted !== true;
    if (allowed) return { step: 'replace', count: index + 1, ...one };
  }
  return undefined;
}

/** The next step; undefined where none is left. */
export function nextRung(
  policy: RecoveryPolicy,
  task: TaskState,
  failure: TaskFailure,
): Rung | undefined {
  if (isOver(failure)) return undefined;
  const { restart, replace, escalate } = task.ladder?.counts ?? noSteps;
  const known = failure.class !== 'unknown-outcome';
  const isFirst = replace === 0 && escalate === 0;
  if (isFirst && restart < policy.restart && !isHopeless(failure) && mayGoOn(policy, task))
    return { step: 'restart', count: restart + 1 };
  const next = escalate === 0 && known ? replacement(policy, task, replace) : undefined;
  if (next !== undefined) return next;
  if (escalate >= policy.escalationsMax) return undefined;
  return { step: 'escalate', count: escalate + 1 };
}

function triedBy(task: TaskState, failure: TaskFailure): Tried {
  const { code, class: kind, message } = failure;
  const model = task.ladder?.model;
  return {
    ...{ attempt: attemptsOf(task.machine), agent: workerOf(task) },
    ...(model === undefined ? {} : { model }),
    ...{ code, class: kind, message: message.slice(0, messageCharactersMax) },
  };
}

const mostOf = (policy: RecoveryPolicy, { step }: Rung): number =>
  ({
    restart: policy.restart,
    replace: policy.replaceWith.length,
    escalate: policy.escalationsMax,
  })[step];

const whatOf = ({ step, agent, model }: Rung): string => {
  if (step === 'restart') return 'The agent begins again with the error in its context';
  if (step === 'escalate') return 'A person is asked';
  return agent === undefined
    ? `The model "${model}" takes over`
    : `The agent "${agent}" takes over`;
};

/** The reason of a step, as people read it. */
export function reasonOf(
  policy: RecoveryPolicy,
  task: TaskState,
  { rung, failure }: Readonly<{ rung: Rung; failure: TaskFailure }>,
): string {
  const { attempt, agent, code, message } = triedBy(task, failure);
  const place = `${rung.step} ${rung.count} of ${mostOf(policy, rung)}`;
  return `${whatOf(rung)} (${place}), because attempt ${attempt} by "${agent}" failed with ${code}: ${message}`;
}

/** The failure with what was tried before it, for the end of the task. */
export function withEnd(task: TaskState, failure: TaskFailure): TaskFailure {
  const { counts } = task.ladder ?? { counts: noSteps };
  const steps = (['restart', 'replace', 'escalate'] as const).filter((step) => counts[step] > 0);
  if (steps.length === 0) return failure;
  const told = steps.map((step) => `${step} (${counts[step]})`).join(', ');
  return { ...failure, message: `${failure.message} Tried before: ${told}.` };
}

type Worker = Pick<Ladder, 'agent' | 'model' | 'strayed'>;

/** A model takes over from the model, an agent from the agent with its model; a person has the plan's agent try again. */
function workerAfter(before: Worker, { step, agent, model }: Rung): Worker {
  const { agent: _agent, model: _model, ...rest } = before;
  if (agent !== undefined) return { ...rest, agent, strayed: true };
  if (model !== undefined) return { ...before, model };
  if (step !== 'escalate' || before.agent === undefined) return before;
  return rest;
}

/** The task's ladder after the event that says what follows from its failure. */
export function climbed(
  task: TaskState,
  { data }: SeenEvent<'task.retry-scheduled'>,
): Pick<TaskState, 'ladder'> {
  const { recovery } = data;
  if (recovery === undefined || task.failure === null) return {};
  const { step, count } = recovery;
  const { counts, tried: before, step: _last, ...worker } = task.ladder ?? noLadder;
  const tried = [...before, triedBy(task, task.failure)].slice(-triedMax);
  const next = { step, counts: { ...counts, [step]: count }, tried };
  return { ladder: { ...workerAfter(worker, recovery), ...next } };
}

/** Who takes over a task whose template is taken out; undefined where nobody may. */
export function standIn(policy: RecoveryPolicy, task: TaskState): Rung | undefined {
  if (task.acted === true) return undefined;
  const used = task.ladder?.counts.replace ?? 0;
  const index = policy.replaceWith.findIndex((one, at) => at >= used && 'agent' in one);
  const found = policy.replaceWith[index];
  return found === undefined ? undefined : { step: 'replace', count: index + 1, ...found };
}

/** The task's ladder after another agent took over before an attempt began. */
export function divertedTo(
  task: TaskState,
  { data }: SeenEvent<'task.diverted'>,
): Pick<TaskState, 'ladder'> {
  const { counts, tried } = task.ladder ?? { counts: noSteps, tried: [] };
  const { agent, count } = data;
  const next = { step: 'replace' as const, counts: { ...counts, replace: count }, tried };
  return { ladder: { agent, strayed: true, ...next } };
}

type Told = Readonly<{
  data: Pick<DataOf<'task.scheduled'>, 'recovery'>;
  content: Readonly<{ tried?: ContentDraft }>;
}>;

/** What the next attempt is told of those before; nothing where no error policy made it. */
export function toldTo(state: SupervisorState, task: TaskState): Told {
  const { ladder } = task;
  if (ladder === undefined) return { data: {}, content: {} };
  const { step, model, tried } = ladder;
  const policy = policyOf(state, task);
  const known = tried.at(-1)?.class !== 'unknown-outcome';
  const isAnew = task.acted === true && ladder.strayed === true;
  const mayRetry = policy !== undefined && known && mayGoOn(policy, task) && !isAnew;
  const recovery = {
    step,
    ...(model === undefined ? {} : { model }),
    ...(step === 'escalate' ? { mayRetry } : {}),
  };
  return { data: { recovery }, content: { tried: json(tried as unknown as JsonValue) } };
}
