/**
 * Definitions as people write them, and the values that stand in for what they leave out. After
 * this nothing is optional but what may really be missing.
 */

import type {
  AgentDefinition,
  ContextPolicy,
  Embedding,
  ModelAgent,
  PersonPolicy,
  ProcedureAgent,
  ProcedureStep,
} from '../../../schemas/definitions/agent.ts';
import type { ModelRoute } from '../../../schemas/definitions/catalog.ts';
import type { McpServerDefinition } from '../../../schemas/definitions/mcp-server.ts';
import type {
  Loop,
  PlanDefinition,
  PlanInput,
  Planning,
  PlanOutput,
  Replan,
  Review,
  Synthesis,
  TaskDefinition,
  Template,
} from '../../../schemas/definitions/plan.ts';
import type { PoolDefinition } from '../../../schemas/definitions/pool.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import { askPerson } from './person-tool.ts';
import { completeDelegation, type WrittenDelegation } from './written-delegation.ts';
import { completeOnError, formOf, type WrittenErrorPolicy } from './written-error-policy.ts';
import { completeFanOut, type WrittenFanOut } from './written-fan-out.ts';

type Optional<T, K extends keyof T> = Readonly<Omit<T, K> & Partial<Pick<T, K>>>;

type WrittenInput = Optional<PlanInput, 'required'>;
type WrittenTask = Readonly<
  Optional<
    Omit<TaskDefinition, 'fanOut' | 'review' | 'loop'>,
    Exclude<keyof TaskDefinition, 'id' | 'pool' | 'agent' | 'fanOut' | 'review' | 'loop'>
  > & {
    fanOut?: WrittenFanOut;
    review?: Optional<Review, 'input' | 'accepted' | 'remarks' | 'roundsMax' | 'onExhausted'>;
    loop?: Partial<Loop>;
  }
>;
type WrittenOutput = Readonly<
  Optional<Omit<PlanOutput, 'synthesis'>, 'conflict'> & {
    synthesis?: Optional<Synthesis, Exclude<keyof Synthesis, 'model'>>;
  }
>;

export type WrittenPlan = Readonly<
  Pick<PlanDefinition, 'name' | 'version' | 'description' | 'progress'> & {
    inputs?: Readonly<Record<string, WrittenInput>>;
    tasks?: readonly WrittenTask[];
    planning?: Optional<
      Omit<Planning, 'form'>,
      'guidance' | 'tasksMax' | 'attemptsMax' | 'outputTokensMax' | 'timeoutMs'
    >;
    output?: WrittenOutput;
    replan?: Readonly<{
      revisionsMax?: number;
      rules?: readonly Readonly<{ when: string; tasks: readonly WrittenTask[] }>[];
    }>;
  }
>;
type WrittenContext = Partial<Omit<ContextPolicy, 'summary'>> &
  Readonly<{ tokensMax: number; summary?: Partial<ContextPolicy['summary']> }>;
type Written<T extends AgentDefinition> = Omit<
  T,
  'form' | 'onError' | 'person' | 'delegates' | 'handoffs'
> &
  Readonly<{ onError?: WrittenErrorPolicy; person?: Partial<PersonPolicy> }> &
  WrittenDelegation;
export type WrittenModelAgent = Omit<
  Optional<
    Written<ModelAgent>,
    | 'tools'
    | 'system'
    | 'stepsMax'
    | 'outputTokensMax'
    | 'modelTimeoutMs'
    | 'modelAttemptsMax'
    | 'output'
  >,
  'context'
> &
  Readonly<{ context?: WrittenContext }>;
type WrittenStep =
  | Omit<ProcedureStep, 'embed'>
  | (Pick<ProcedureStep, 'id' | 'when'> &
      Readonly<{
        embed: Optional<Embedding, 'timeoutMs' | 'attemptsMax'> & Readonly<{ texts: Template }>;
      }>);
export type WrittenProcedureAgent = Omit<Written<ProcedureAgent>, 'steps' | 'tools'> &
  Readonly<{ steps: readonly WrittenStep[]; tools: readonly string[] }>;
export type WrittenAgent = WrittenProcedureAgent | WrittenModelAgent;
export type WrittenTool = Optional<
  ToolDefinition,
  'idempotent' | 'timeoutMs' | 'argumentBytesMax' | 'resultBytesMax'
>;
export type WrittenPools = readonly PoolDefinition[];
export type WrittenServers = Readonly<
  Record<
    string,
    Optional<Omit<McpServerDefinition, 'name'>, 'args' | 'env' | 'startTimeoutMs' | 'trusted'>
  >
>;
export type WrittenModels = Readonly<Record<string, ModelRoute>>;

const taskDefaults = {
  needs: [],
  input: {},
  priority: 0,
  timeoutMs: 60_000,
  attemptsMax: 3,
  backoffMs: 500,
  onFailure: 'fail',
} as const;

const reviewDefaults = {
  input: { result: '=result', round: '=round' },
  accepted: 'review.accepted = true',
  remarks: '=review.remarks',
  roundsMax: 3,
  onExhausted: 'fail',
} as const;

const planningDefaults = {
  guidance: '',
  tasksMax: 16,
  attemptsMax: 3,
  outputTokensMax: 2048,
  timeoutMs: 60_000,
};

/** A condition may be written with or without the `=` of templates. */
const condition = (written: string): string => written.replace(/^=/, '');

function completeTask(written: WrittenTask): TaskDefinition {
  const { fanOut, review, loop, ...rest } = written;
  return {
    ...taskDefaults,
    ...rest,
    ...(fanOut === undefined ? {} : { fanOut: completeFanOut(fanOut) }),
    ...(review === undefined ? {} : { review: completeReview(review) }),
    ...(loop === undefined ? {} : { loop: completeLoop(loop) }),
  };
}

const synthesisDefaults = {
  guidance: '',
  outputTokensMax: 1024,
  timeoutMs: 60_000,
  attemptsMax: 3,
};

function completeOutput({ synthesis, vote, ...output }: WrittenOutput): PlanOutput {
  return {
    conflict: 'list',
    ...output,
    ...(vote === undefined
      ? {}
      : { vote: { ...vote, ...(vote.of && { of: condition(vote.of) }) } }),
    ...(synthesis === undefined ? {} : { synthesis: { ...synthesisDefaults, ...synthesis } }),
  };
}

function completeReview(written: NonNullable<WrittenTask['review']>): Review {
  const review = { ...reviewDefaults, ...written };
  return { ...review, accepted: condition(review.accepted) };
}

function completeLoop({ wake = {}, exit = {} }: Partial<Loop>): Loop {
  const { when, ...limits } = exit;
  return { wake, exit: when === undefined ? limits : { ...limits, when: condition(when) } };
}

/**
 * A plan with every task complete; an input without a default is required unless the file says
 * otherwise.
 */
export function completePlan(written: WrittenPlan): PlanDefinition {
  const { name, version, description, output, planning, replan, progress } = written;
  const inputs = Object.entries(written.inputs ?? {}).map(([input, definition]) => {
    return [input, { required: definition.default === undefined, ...definition }] as const;
  });
  return {
    name,
    version,
    description,
    inputs: Object.fromEntries(inputs),
    tasks: (written.tasks ?? []).map(completeTask),
    ...(planning === undefined ? {} : { planning: { ...planningDefaults, ...planning, form: 2 } }),
    ...(replan === undefined ? {} : { replan: completeReplan(replan) }),
    ...(progress === undefined ? {} : { progress }),
    output: completeOutput(output ?? { kind: 'collect' }),
  };
}

function completeReplan(written: NonNullable<WrittenPlan['replan']>): Replan {
  const { revisionsMax = 1, rules = [] } = written;
  const complete = rules.map(({ when, tasks }) => ({
    when: condition(when),
    tasks: tasks.map(completeTask),
  }));
  return { revisionsMax, rules: complete };
}

const modelAgentDefaults = {
  tools: [],
  system: '',
  stepsMax: 8,
  outputTokensMax: 1024,
  modelTimeoutMs: 60_000,
  modelAttemptsMax: 3,
  repairsMax: 1,
  repeatsMax: 4,
  refusedStepsMax: 3,
} as const;

const instructions =
  'Sum up this part of a conversation between an assistant and its tools, for the assistant itself, which will not see ' +
  'it again: what was found, decided and tried without success, with names and figures. Write nothing else.';

function completeContext(written: WrittenContext, model: string): ContextPolicy {
  const summary = { model, instructions, outputTokensMax: 512, ...written.summary };
  return { overflow: 'omit', keepSteps: 2, pin: [], ...written, summary };
}

type WrittenAsking = Pick<WrittenModelAgent, 'tools' | 'person' | 'onError'>;

/** Nothing for an agent that asks nobody: it stays as it was before agents could. */
function completePerson({ tools = [], person, onError }: WrittenAsking) {
  const asks =
    tools.includes(askPerson) || (onError?.budgetAskNanoUsd ?? onError?.escalate) !== undefined;
  if (!asks && person === undefined) return {};
  return { person: { escalateTo: [], ...person } };
}

function completeModelAgent(whole: WrittenModelAgent): ModelAgent {
  const { context, onError: said, person: _person, ...others } = whole;
  const { delegates: _to, handoffs: _on, ...written } = others;
  const output = written.outputSchema === undefined ? 'text' : 'json';
  const onError = completeOnError(said);
  return {
    ...{ ...modelAgentDefaults, output, ...written, form: formOf(onError) },
    onError,
    ...completePerson(whole),
    ...completeDelegation(whole),
    ...(context === undefined ? {} : { context: completeContext(context, written.model) }),
  };
}

function completeEmbedding({ id, embed }: Extract<WrittenStep, { embed: object }>): ProcedureStep {
  const { texts, ...rest } = embed;
  const given = { arguments: { texts }, embed: { timeoutMs: 30_000, attemptsMax: 3, ...rest } };
  return { id, tool: 'embed', ...given };
}

/** An agent with every member; `when` may be written with or without the `=` of templates. */
export function completeAgent(written: WrittenAgent): AgentDefinition {
  if (written.kind === 'model') return completeModelAgent(written);
  const steps = written.steps.map(({ when, ...step }) => {
    const complete = 'embed' in step ? completeEmbedding(step) : step;
    return when === undefined ? complete : { ...complete, when: condition(when) };
  });
  const onError = completeOnError(written.onError, 'fail');
  const { person: _person, delegates: _to, handoffs: _on, ...rest } = written;
  const policies = { ...completePerson(written), ...completeDelegation(written) };
  return { ...rest, steps, form: formOf(onError), onError, ...policies };
}

const toolDefaults = { timeoutMs: 30_000, argumentBytesMax: 262_144, resultBytesMax: 1_048_576 };

/**
 * A tool with every member; one that changes nothing is idempotent unless the file says otherwise.
 */
export function completeTool(written: WrittenTool): ToolDefinition {
  const idempotent = written.sideEffects === 'none' || written.sideEffects === 'read';
  return { ...toolDefaults, idempotent, ...written };
}

/** The pools by name. */
export function completePools(written: WrittenPools): [string, PoolDefinition][] {
  return written.map((pool) => [pool.name, pool]);
}

const serverDefaults = { args: [], env: [], startTimeoutMs: 10_000, trusted: false };

/** The servers by name; without a word about it, none is trusted. */
export function completeServers(written: WrittenServers): [string, McpServerDefinition][] {
  return Object.entries(written).map(([name, server]) => [
    name,
    { name, ...serverDefaults, ...server },
  ]);
}
