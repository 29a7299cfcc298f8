/** The two tools by which agents give work to others: a part of it, or all of it. The supervisor makes a task of each. */

import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { JsonObject } from '../../../schemas/json.ts';

/** An agent that lists it may give parts of its work to others. */
export const delegate = 'delegate';

/** An agent that lists it may give its task away. */
export const handoff = 'handoff';

const agent: JsonObject = { type: 'string', minLength: 1, maxLength: 128 };
const input: JsonObject = { type: 'object' };

function given(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

const common = {
  version: '1.0.0',
  category: 'agents',
  risk: 'low',
  sideEffects: 'none',
  idempotent: true,
  runner: { kind: 'agent' },
  roles: ['*'],
  timeoutMs: 30_000,
  argumentBytesMax: 262_144,
  resultBytesMax: 1_048_576,
} as const;

export const delegateTool: ToolDefinition = {
  ...common,
  name: delegate,
  description:
    'Gives a part of the work to another agent and waits for its result. It sees goal and input and nothing else of ' +
    'this conversation. Calls in one answer work side by side. budgetPercent is its part of the money that is left.',
  inputSchema: given(
    {
      agent,
      goal: { type: 'string', minLength: 1, maxLength: 32_768 },
      input,
      budgetPercent: { type: 'integer', minimum: 1, maximum: 100 },
    },
    ['agent', 'goal'],
  ),
};

export const handoffTool: ToolDefinition = {
  ...common,
  name: handoff,
  description:
    'Gives this task to another agent for good: its result is the result of the task, and this agent ends. Make it the ' +
    'only call of an answer. Say in summary what was found and done so far, and what is left to do.',
  inputSchema: given(
    { agent, summary: { type: 'string', minLength: 1, maxLength: 32_768 }, input },
    ['agent', 'summary'],
  ),
};
