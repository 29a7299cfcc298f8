/**
 * Runs a plan by its templates alone: no services, no log, tools as plain functions. For tests of
 * catalogs. Tasks run in the order of the file, which for these plans is an order of their needs.
 */
import type { ModelAgent, ProcedureAgent } from '../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { compileTemplate } from '../../services/chassis/expressions/template.ts';

export type RehearsalTools = Readonly<Record<string, (given: JsonObject) => JsonValue>>;

export type Rehearsal = Readonly<{
  pinned: PinnedCatalog;
  inputs: JsonObject;
  tools: RehearsalTools;
  model(agent: ModelAgent, input: JsonValue): JsonValue;
}>;

/** Outputs of all tasks, and the output of the plan. */
export function rehearsePlan(rehearsal: Rehearsal): { tasks: JsonObject; output: JsonValue } {
  const { pinned, inputs } = rehearsal;
  const done: Record<string, JsonValue> = {};
  const scope = (): JsonObject => ({ goal: 'a test', inputs, context: {}, tasks: { ...done } });
  for (const task of pinned.plan.tasks) {
    const agent = pinned.agents[task.agent];
    if (agent === undefined) throw new Error(`no agent ${task.agent}`);
    const input = compileTemplate(task.input, `${task.id}.input`).evaluate(scope());
    done[task.id] =
      agent.kind === 'model'
        ? rehearsal.model(agent, input)
        : runProcedure(agent, input, rehearsal.tools);
  }
  const shape = compileTemplate(pinned.plan.output.shape ?? '=tasks', 'output.shape');
  return { tasks: done, output: shape.evaluate(scope()) };
}

/** The steps of `agent`, each with the results of the earlier ones. */
export function runProcedure(
  agent: ProcedureAgent,
  input: JsonValue,
  tools: RehearsalTools,
): JsonValue {
  const steps: Record<string, JsonValue> = {};
  for (const step of agent.steps) {
    const given = compileTemplate(step.arguments, `${agent.name}.${step.id}`).evaluate({
      input,
      context: {},
      steps: { ...steps },
    });
    const tool = tools[step.tool];
    if (tool === undefined || !isObject(given)) throw new Error(`cannot call ${step.tool}`);
    steps[step.id] = tool(given);
  }
  const output = compileTemplate(agent.output, `${agent.name}.output`);
  return output.evaluate({ input, context: {}, steps });
}

/** What the sandbox would give, without the sandbox: for code of our own only. */
export function runUnboxed(given: JsonObject): JsonValue {
  const run = new Function('input', String(given.code));
  const value: unknown = run(given.input ?? null);
  return { value: JSON.parse(JSON.stringify(value)), stdout: '' };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
