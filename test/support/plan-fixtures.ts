import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition, TaskDefinition } from '../../schemas/definitions/plan.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { type DataOf, type Draft, event, json, text } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { OpenCall } from '../../services/chassis/protocol/service-logic.ts';

/** Plans, goals and outcomes for tests of pure logic: short to say, complete to the schemas. */

export function aTask(id: string, changes: Partial<TaskDefinition> = {}): TaskDefinition {
  return {
    id,
    pool: 'main',
    agent: 'worker',
    needs: [],
    input: { goal: '=goal' },
    priority: 0,
    timeoutMs: 5_000,
    attemptsMax: 3,
    backoffMs: 1_000,
    onFailure: 'fail',
    ...changes,
  };
}

export function aPlan(
  tasks: readonly TaskDefinition[],
  changes: Partial<PlanDefinition> = {},
): PlanDefinition {
  return {
    name: 'audit',
    version: '1.0.0',
    description: 'A plan for tests.',
    inputs: {},
    tasks,
    output: { kind: 'collect', conflict: 'first' },
    ...changes,
  };
}

const worker: AgentDefinition = {
  kind: 'procedure',
  name: 'worker',
  version: '1.0.0',
  description: 'Reads.',
  role: 'reader',
  tools: ['read'],
  steps: [{ id: 'read', tool: 'read', arguments: {} }],
  output: '=steps.read',
};

export const readTool: ToolDefinition = {
  name: 'read',
  version: '1.0.0',
  description: 'Reads a file.',
  inputSchema: { type: 'object' },
  category: 'files',
  risk: 'low',
  sideEffects: 'read',
  idempotent: true,
  runner: { kind: 'builtin', name: 'read' },
  roles: ['reader'],
  timeoutMs: 1_000,
  argumentBytesMax: 1_000,
  resultBytesMax: 1_000,
};

export const aCatalog = (plan: PlanDefinition): PinnedCatalog => ({
  plan,
  agents: { worker },
  tools: { read: readTool },
  models: {},
});

export function opened(
  changes: Partial<DataOf<'session.opened'>> = {},
  content: { inputs?: JsonObject; context?: JsonValue } = {},
): Draft<'session.opened'> {
  const data: DataOf<'session.opened'> = {
    goalId: 'goal-1',
    source: 'test',
    priority: 'normal',
    lane: 'normal',
    goalLog: 'goal_ses_test',
    openedAtMs: 900_000,
    plan: 'audit',
    ...changes,
  };
  return event('session.opened', data, {
    goal: text('look at it'),
    ...(content.inputs === undefined ? {} : { inputs: json(content.inputs) }),
    ...(content.context === undefined ? {} : { context: json(content.context) }),
  });
}

/** The planner's turn that accepts this plan. */
export function planTurn(plan: PlanDefinition): readonly Draft[] {
  const body = json(plan as unknown as JsonValue);
  const { name, version } = plan;
  const tasks = plan.tasks.map(
    ({ input: _input, fanOut: _fan, review: _review, loop: _loop, needs, ...rest }) => ({
      ...rest,
      needs: [...needs],
    }),
  );
  return [
    event('plan.proposed', { plan: name, version, origin: 'template' }, { plan: body }),
    event(
      'plan.accepted',
      { plan: name, version, digest: 'd', tasks },
      { plan: body, catalog: json(aCatalog(plan) as unknown as JsonValue) },
    ),
  ];
}

export function taskCompleted(task: string, output: JsonValue, attempt = 1): Draft {
  const data = { task, attempt, agent: `agt_${task}_${attempt}` };
  return event('task.completed', data, { output: json(output) });
}

export function taskFailed(task: string, changes: Partial<DataOf<'task.failed'>> = {}): Draft {
  const data: DataOf<'task.failed'> = {
    task,
    attempt: 1,
    agent: `agt_${task}`,
    code: 'TOOL_FAILED',
    class: 'tool-error',
    retryable: true,
    ...changes,
  };
  return event('task.failed', data, { message: text(`${task} broke`) });
}

export const aCall = (changes: Partial<OpenCall> = {}): OpenCall => ({
  status: 'claimed',
  service: 'tool-runner',
  claim: 'rec#0',
  incarnation: 'inc_test',
  attempt: 1,
  deadlineAtMs: 2_000_000,
  ...changes,
});
