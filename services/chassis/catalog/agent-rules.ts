/** What a schema cannot say of an agent. Pure. */

import type {
  AgentDefinition,
  ModelAgent,
  ProcedureAgent,
  ProcedureStep,
} from '../../../schemas/definitions/agent.ts';
import { expressionViolations, sourceViolations } from './expression-rules.ts';
import type { Violation } from './problem.ts';
import { type CatalogNames, duplicates, under, unknownName, unknownNames } from './rules.ts';

/** Every rule that `agent` breaks; an empty list when it may be used. */
export function validateAgent(agent: AgentDefinition, catalog: CatalogNames): Violation[] {
  return [
    ...unknownNames(agent.tools, catalog.tools, 'tool').map(under('tools')),
    ...(agent.kind === 'model' ? modelViolations(agent, catalog) : procedureViolations(agent)),
  ];
}

function modelViolations(agent: ModelAgent, catalog: CatalogNames): Violation[] {
  const named = agent.model.includes('/')
    ? []
    : unknownName(agent.model, catalog.models, 'model').map(under('model'));
  return [...named, ...expressionViolations(agent.prompt, ['prompt'])];
}

function procedureViolations(agent: ProcedureAgent): Violation[] {
  const ids = agent.steps.map(({ id }) => id);
  return [
    ...duplicates(ids, 'step').map((found) => ({ ...found, path: ['steps', ...found.path, 'id'] })),
    ...agent.steps.flatMap((step, index) => stepViolations(step, index, agent)),
    ...expressionViolations(agent.output, ['output']),
  ];
}

function stepViolations(step: ProcedureStep, index: number, agent: ProcedureAgent): Violation[] {
  const path = ['steps', index];
  const undeclared = {
    path: [...path, 'tool'],
    reason: `The step calls "${step.tool}", which the agent's tools do not list.`,
    fix: `Add "${step.tool}" to the tools of the agent, or call one of: ${agent.tools.join(', ')}.`,
  };
  return [
    ...(agent.tools.includes(step.tool) ? [] : [undeclared]),
    ...(step.when === undefined ? [] : sourceViolations(step.when, [...path, 'when'])),
    ...expressionViolations(step.arguments, [...path, 'arguments']),
  ];
}
