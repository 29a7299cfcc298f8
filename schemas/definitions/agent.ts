import type { JsonObject, JsonValue } from '../json.ts';
import type { Template } from './plan.ts';

export type ProcedureStep = Readonly<{
  id: string;
  tool: string;
  /** Sees `input`, `context` and `steps.<id>` (results of earlier steps). */
  arguments: Template;
  /** An expression; the step is passed over (result null) where it is not true. */
  when?: string;
  /** The step asks a model for the vectors of `arguments.texts`; `tool` is `embed` then. */
  embed?: Embedding;
}>;

/** `model`: an alias of the models file, or `provider/model`. */
export type Embedding = Readonly<{
  model: string;
  timeoutMs: number;
  /** How often a call is made whose failure may pass, the first included; absent: once, as before. */
  attemptsMax?: number;
  /** An equal request of the same tenant may be answered from a cache for so long; undefined: never. */
  cacheMs?: number;
}>;

/** Who takes over: a model, which goes on with the conversation, or another agent, which begins the task anew. */
export type Replacement = Readonly<{ model: string }> | Readonly<{ agent: string }>;

/** When the whole template is taken out, over all sessions, and what becomes of its tasks meanwhile. */
export type TemplateBreaker = Readonly<{
  /** Attempts in a row that fail. */
  failuresMax: number;
  /** How long nobody of the template begins then; doubles with each probe that fails. */
  coolMs: number;
  /** Tasks wait, go to the first agent that may take over, or fail. */
  meanwhile: 'wait' | 'replace' | 'fail';
}>;

/** What becomes of an agent that cannot go on. */
export type ErrorPolicy = Readonly<{
  /** A further attempt goes on after what the one before has (`resume`), or from the first step (`restart`). */
  attempts: 'resume' | 'restart';
  /** `tell`: the model is told of a failed call and may find another way. `fail`: the agent fails with it. */
  tools: 'tell' | 'fail';
  /** Models that take over, in this order, where a model call failed for good. */
  models: readonly string[];
  /** Where a model call would pass a budget, a person is asked for so much more; absent: the agent fails. */
  budgetAskNanoUsd?: number;
  /** How often a failed attempt is followed by one that goes on from what is recorded and is told the error. */
  restart?: number;
  /** Who takes over then, one after another. */
  replaceWith?: readonly Replacement[];
  /** How often a person is asked what to do when nobody is left. */
  escalate?: Readonly<{ timesMax: number }>;
  breaker?: TemplateBreaker;
}>;

/** How an agent asks a person. Without a time-out a question waits as long as it takes. */
export type PersonPolicy = Readonly<{
  /** Who is asked, in words; anybody may answer. */
  to?: string;
  /** Of each of those who are asked. */
  timeoutMs?: number;
  /** Who is asked besides, one after another, where nobody answered in time. */
  escalateTo: readonly string[];
  /** The answer where nobody gave one at last; absent: the call fails. */
  default?: JsonValue;
}>;

/** Whom an agent may give parts of its work, and how much of what it has. */
export type DelegationPolicy = Readonly<{
  agents: readonly string[];
  /** How many agents may delegate one below the other; the least of those above holds too. */
  depthMax: number;
  /** How many of its delegates work at the same time; the others wait. */
  parallelMax: number;
  /** How often the task may be delegated from, all attempts together. */
  countMax: number;
  /** The most of what is left of the budgets that one delegate may get, in percent. */
  budgetPercentMax: number;
  /** Of one attempt of a delegate; never beyond the time of who delegates. */
  timeoutMs?: number;
}>;

/** To whom an agent may give its task away. */
export type HandoffPolicy = Readonly<{
  agents: readonly string[];
  /** What the other one gets to know: what this one says of it, or all that was said. */
  with: 'summary' | 'conversation';
  /** How often the task may be handed on until it comes to this agent and with it. */
  handoffsMax: number;
}>;

/** What an agent gets of shared memory. There is none yet: only `none` is accepted. */
export type MemoryPolicy = Readonly<{ kind: 'none' | 'shared' }>;

/** Whether an agent whose tools are those of MCP servers asks these before its first step whether they are well. */
export type ProvisioningPolicy = Readonly<{ servers: 'check' | 'skip' }>;

/** How the conversation is kept within so many tokens of one request. */
export type ContextPolicy = Readonly<{
  tokensMax: number;
  /** Oldest steps first: leave them out, put a summary in their place, or give up. */
  overflow: 'omit' | 'summarise' | 'fail';
  /** The newest steps, which always stay. */
  keepSteps: number;
  /** Steps that called one of these tools always stay. */
  pin: readonly string[];
  summary: Readonly<{ model: string; instructions: string; outputTokensMax: number }>;
}>;

/** What agents of both kinds have; absent in sessions that pinned an agent of form 1, which run as they did. */
type AgentPolicies = Readonly<{
  /**
   * Form of the template. Behaviour that came with a form is for agents of it and of later ones: 3 heals itself, 4
   * has a breaker that counts and stops also those to whom work was given, and 5 asks its MCP servers before it begins.
   */
  form?: 2 | 3 | 4 | 5;
  /** What the agent is for, in words. A model reads it after its system text. */
  goal?: string;
  /** Of one attempt, from its start. */
  wallTimeMs?: number;
  memory?: MemoryPolicy;
  provisioning?: ProvisioningPolicy;
  onError?: ErrorPolicy;
  /** There where the agent may ask. */
  person?: PersonPolicy;
  /** There where the agent may delegate, or hand its task on. */
  delegates?: DelegationPolicy;
  handoffs?: HandoffPolicy;
}>;

/** Declared tool calls, one after another; needs no model. */
export type ProcedureAgent = AgentPolicies &
  Readonly<{
    kind: 'procedure';
    name: string;
    version: string;
    description: string;
    /** What the tool guard knows the agent by. */
    role: string;
    tools: readonly string[];
    steps: readonly ProcedureStep[];
    /** Sees `input`, `context`, `steps`. */
    output: Template;
  }>;

/** A model in a loop with tools. */
export type ModelAgent = AgentPolicies &
  Readonly<{
    kind: 'model';
    name: string;
    version: string;
    description: string;
    role: string;
    tools: readonly string[];
    /** An alias of the models file, or `provider/model`. */
    model: string;
    system: string;
    /** Sees `input`, `context`; the first user message. */
    prompt: Template;
    /** Images and files that go with it; sees the same. */
    files?: Template;
    stepsMax: number;
    outputTokensMax: number;
    modelTimeoutMs: number;
    /** How often a failed model call is tried again when its class allows it. */
    modelAttemptsMax: number;
    /** An equal request of the same tenant may be answered from a cache for so long; undefined: never. */
    answerCacheMs?: number;
    /** `json`: the last answer must be JSON. */
    output: 'text' | 'json';
    /** JSON Schema of the output, which is JSON then. */
    outputSchema?: JsonObject;
    /** How often the model is asked again for an output that is not what it should be. */
    repairsMax?: number;
    /** Input and output of all model calls of one attempt. The call that passes it is the last. */
    tokensMax?: number;
    /** Of all model calls of one attempt, likewise. */
    costNanoUsdMax?: number;
    /** How often the same call may give the same answer. */
    repeatsMax?: number;
    /** How many steps in a row may hold nothing but calls that were refused. */
    refusedStepsMax?: number;
    context?: ContextPolicy;
  }>;

export type AgentDefinition = ProcedureAgent | ModelAgent;
