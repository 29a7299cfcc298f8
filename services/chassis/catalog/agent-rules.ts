/** What a schema cannot say of an agent. Pure. */

import type {
  AgentDefinition,
  ModelAgent,
  ProcedureAgent,
  ProcedureStep,
} from '../../../schemas/definitions/agent.ts';
import type { Template } from '../../../schemas/definitions/plan.ts';
import { expressionViolations, sourceViolations } from './expression-rules.ts';
import { type CatalogNames, duplicates, under, unknownName, unknownNames } from './known-names.ts';
import { askPerson } from './person-tool.ts';
import type { Violation } from './problem.ts';
import type { SchemaCheck } from './tool-rules.ts';

/** Every rule that `agent` breaks; an empty list when it may be used. */
export function validateAgent(
  agent: AgentDefinition,
  catalog: CatalogNames,
  checkSchema: SchemaCheck,
): Violation[] {
  return [
    ...unknownNames(agent.tools, catalog.tools, 'tool').map(under('tools')),
    ...memoryViolations(agent),
    ...personViolations(agent),
    ...replacementViolations(agent, catalog),
    ...breakerViolations(agent),
    ...(agent.kind === 'model'
      ? modelViolations(agent, catalog, checkSchema)
      : procedureViolations(agent, catalog)),
  ];
}

function memoryViolations({ memory }: AgentDefinition): Violation[] {
  if (memory === undefined || memory.kind === 'none') return [];
  const reason = `An agent cannot have ${memory.kind} memory: this release has no memory service.`;
  const fix =
    'Remove "memory", or write "kind: none"; give the agent what it has to know as input.';
  return [{ path: ['memory', 'kind'], reason, fix }];
}

function personViolations({ person, tools, onError }: AgentDefinition): Violation[] {
  if (person === undefined) return [];
  const asks =
    tools.includes(askPerson) || (onError?.budgetAskNanoUsd ?? onError?.escalate) !== undefined;
  const silent: Violation = {
    path: ['person'],
    reason: `The agent says whom to ask, but never asks: its tools do not list "${askPerson}".`,
    fix: `Add "${askPerson}" to its tools, or remove "person".`,
  };
  const { timeoutMs, escalateTo } = person;
  const endless =
    timeoutMs === undefined && (escalateTo.length > 0 || person.default !== undefined);
  const noEnd: Violation = {
    path: ['person'],
    reason: 'Nothing follows an unanswered question, because "timeoutMs" is missing.',
    fix: 'Say with "timeoutMs" how long a person may take, or remove "escalateTo" and "default".',
  };
  return [...(asks ? [] : [silent]), ...(endless ? [noEnd] : [])];
}

function replacementViolations(
  { name, onError }: AgentDefinition,
  catalog: CatalogNames,
): Violation[] {
  return (onError?.replaceWith ?? []).flatMap((one, index) => {
    const path = ['onError', 'replaceWith', index];
    if ('model' in one) return modelName(one.model, catalog).map(under(...path, 'model'));
    if (one.agent !== name)
      return unknownName(one.agent, catalog.agents, 'agent').map(under(...path, 'agent'));
    const reason = `The agent "${name}" would take over from itself.`;
    const fix = 'Name another agent, or let "restart" say how often this one begins again.';
    return [{ path: [...path, 'agent'], reason, fix }];
  });
}

function breakerViolations({ onError }: AgentDefinition): Violation[] {
  if (onError?.breaker?.meanwhile !== 'replace') return [];
  if (onError.replaceWith?.some((one) => 'agent' in one) === true) return [];
  const reason = 'Tasks shall go to another agent meanwhile, and "replaceWith" names none.';
  const fix = 'Add {agent: NAME} to "replaceWith", or let them "wait" or "fail".';
  return [{ path: ['onError', 'breaker', 'meanwhile'], reason, fix }];
}

function modelViolations(
  agent: ModelAgent,
  catalog: CatalogNames,
  checkSchema: SchemaCheck,
): Violation[] {
  const others = agent.onError?.models ?? [];
  return [
    ...modelName(agent.model, catalog).map(under('model')),
    ...others.flatMap((name, index) =>
      modelName(name, catalog).map(under('onError', 'models', index)),
    ),
    ...contextViolations(agent, catalog),
    ...outputViolations(agent, checkSchema),
    ...expressionViolations(agent.prompt, ['prompt']),
    ...expressionViolations(agent.files ?? null, ['files']),
  ];
}

const modelName = (name: string, catalog: CatalogNames): Violation[] =>
  name.includes('/') ? [] : unknownName(name, catalog.models, 'model');

function contextViolations(agent: ModelAgent, catalog: CatalogNames): Violation[] {
  const { context, model } = agent;
  if (context === undefined) return [];
  const { summary, pin, tokensMax } = context;
  const path = ['context', 'summary', 'outputTokensMax'];
  const reason = `A summary of ${summary.outputTokensMax} tokens does not fit into half of "tokensMax".`;
  const fix = `Use at most ${Math.floor(tokensMax / 2)}, or raise "tokensMax".`;
  const tooLong = context.overflow === 'summarise' && summary.outputTokensMax > tokensMax / 2;
  return [
    ...unknownNames(pin, agent.tools, 'tool of this agent').map(under('context', 'pin')),
    // The agent's own model is reported where it stands.
    ...(summary.model === model ? [] : modelName(summary.model, catalog)).map(
      under('context', 'summary', 'model'),
    ),
    ...(tooLong ? [{ path, reason, fix }] : []),
  ];
}

function outputViolations(agent: ModelAgent, checkSchema: SchemaCheck): Violation[] {
  const { outputSchema, output } = agent;
  if (outputSchema === undefined) return [];
  const why = checkSchema(outputSchema);
  const reason = `"outputSchema" is not a valid JSON Schema: ${why}.`;
  const fix = 'Write it as JSON Schema of 2020-12.';
  const isText: Violation = {
    path: ['output'],
    reason: 'There is an "outputSchema", but "output" says text.',
    fix: 'Write "output: json", or remove one of them.',
  };
  return [
    ...(why === undefined ? [] : [{ path: ['outputSchema'], reason, fix }]),
    ...(output === 'text' ? [isText] : []),
  ];
}

function procedureViolations(agent: ProcedureAgent, catalog: CatalogNames): Violation[] {
  const ids = agent.steps.map(({ id }) => id);
  return [
    ...duplicates(ids, 'step').map((found) => ({ ...found, path: ['steps', ...found.path, 'id'] })),
    ...agent.steps.flatMap((step, index) => [
      ...(step.embed === undefined
        ? toolViolations(step, index, agent)
        : modelName(step.embed.model, catalog).map(under('steps', index, 'embed', 'model'))),
      ...stepViolations(step, index),
    ]),
    ...expressionViolations(agent.output, ['output']),
  ];
}

function toolViolations(
  { tool }: ProcedureStep,
  index: number,
  agent: ProcedureAgent,
): Violation[] {
  if (agent.tools.includes(tool)) return [];
  const path = ['steps', index, 'tool'];
  const reason = `The step calls "${tool}", which the agent's tools do not list.`;
  const others = agent.tools.join(', ');
  const fix = `Add "${tool}" to the tools of the agent, or call one of: ${others}.`;
  return [{ path, reason, fix }];
}

function stepViolations(step: ProcedureStep, index: number): Violation[] {
  const path = ['steps', index];
  const given: Violation[] =
    step.embed === undefined
      ? expressionViolations(step.arguments, [...path, 'arguments'])
      : expressionViolations(textsOf(step), [...path, 'embed', 'texts']);
  return [
    ...(step.when === undefined ? [] : sourceViolations(step.when, [...path, 'when'])),
    ...given,
  ];
}

const textsOf = ({ arguments: given }: ProcedureStep): Template =>
  (given as Readonly<{ texts?: Template }>).texts ?? null;
