import type { Template } from './plan.ts';

export type ProcedureStep = Readonly<{
  id: string;
  tool: string;
  /** Sees `input`, `context` and `steps.<id>` (results of earlier steps). */
  arguments: Template;
  /** An expression; the step is passed over (result null) where it is not true. */
  when?: string;
}>;

/** Declared tool calls, one after another; needs no model. */
export type ProcedureAgent = Readonly<{
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
export type ModelAgent = Readonly<{
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
  stepsMax: number;
  outputTokensMax: number;
  modelTimeoutMs: number;
  /** How often a failed model call is tried again when its class allows it. */
  modelAttemptsMax: number;
  /** `json`: the last answer must be JSON. */
  output: 'text' | 'json';
}>;

export type AgentDefinition = ProcedureAgent | ModelAgent;
