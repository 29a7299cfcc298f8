import type {
  AgentDefinition,
  ModelAgent,
  ProcedureAgent,
} from '../../schemas/definitions/agent.ts';
import type { ModelRoute, PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { type DataOf, type Draft, event, json, type SeenEvent, text } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { addressOf } from '../../services/chassis/protocol/service-logic.ts';
import type { BenchSession } from './bench-session.ts';

/** Tools, agents, plans and outcomes for tests of the services that carry work out. */

export const pool = 'general';

export function tool(name: string, changes: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name,
    version: '1.0.0',
    description: `The tool ${name}.`,
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, lines: { type: 'integer', minimum: 1 } },
      required: ['path'],
      additionalProperties: false,
    },
    category: 'files',
    risk: 'low',
    sideEffects: 'read',
    idempotent: true,
    runner: { kind: 'builtin', name },
    roles: ['*'],
    timeoutMs: 5_000,
    argumentBytesMax: 1_000,
    resultBytesMax: 100_000,
    ...changes,
  };
}

export const tools = {
  read: tool('read'),
  write: tool('write', { sideEffects: 'write', idempotent: false, risk: 'medium' }),
  put: tool('put', { sideEffects: 'write', idempotent: true, runner: mcp('files', 'put') }),
  run: tool('run', {
    sideEffects: 'write',
    idempotent: false,
    runner: { kind: 'sandbox', language: 'javascript' },
  }),
  sum: tool('sum', { sideEffects: 'none', runner: { kind: 'sandbox', language: 'javascript' } }),
} as const;

function mcp(server: string, name: string): ToolDefinition['runner'] {
  return { kind: 'mcp', server, tool: name };
}

export function procedure(changes: Partial<ProcedureAgent> = {}): ProcedureAgent {
  return {
    kind: 'procedure',
    name: 'reader',
    version: '1.0.0',
    description: 'Reads a file.',
    role: 'worker',
    tools: ['read', 'write'],
    steps: [{ id: 'first', tool: 'read', arguments: { path: '=input.path' } }],
    output: { content: '=steps.first' },
    ...changes,
  };
}

export function modelAgent(changes: Partial<ModelAgent> = {}): ModelAgent {
  return {
    kind: 'model',
    name: 'writer',
    version: '1.0.0',
    description: 'Writes a summary.',
    role: 'worker',
    tools: ['read', 'write'],
    model: 'small',
    system: 'Be brief.',
    prompt: '="Sum up " & input.path',
    stepsMax: 4,
    outputTokensMax: 500,
    modelTimeoutMs: 30_000,
    modelAttemptsMax: 3,
    output: 'text',
    ...changes,
  };
}

export type WorkPlan = Readonly<{
  agents: readonly AgentDefinition[];
  tools?: readonly ToolDefinition[];
  models?: Readonly<Record<string, ModelRoute>>;
  context?: JsonValue;
  riskMax?: ToolDefinition['risk'];
  budgetNanoUsd?: number;
}>;

export function catalogOf(plan: WorkPlan): PinnedCatalog {
  const named = <T extends { name: string }>(list: readonly T[]): Record<string, T> =>
    Object.fromEntries(list.map((one) => [one.name, one]));
  return {
    plan: {
      name: 'test',
      version: '1.0.0',
      description: 'A plan of tests.',
      inputs: {},
      tasks: [],
      output: { kind: 'collect', conflict: 'fail' },
    },
    agents: named(plan.agents),
    tools: named(plan.tools ?? Object.values(tools)),
    models: plan.models ?? { small: 'scripted/demo' },
  };
}

/** Opens the session and accepts a plan with one task per agent, named after it. */
export function openWork(bench: BenchSession, plan: WorkPlan): void {
  const opened: DataOf<'session.opened'> = {
    goalId: 'goal-1',
    source: 'test',
    priority: 'normal',
    lane: 'normal',
    goalLog: 'goal_ses_test',
    openedAtMs: bench.nowMs,
    ...(plan.riskMax === undefined ? {} : { riskMax: plan.riskMax }),
    ...(plan.budgetNanoUsd === undefined ? {} : { budgetNanoUsd: plan.budgetNanoUsd }),
  };
  const content = { goal: json('Do it.'), context: json(plan.context ?? { team: 'blue' }) };
  bench.input(event('session.opened', opened, content));
  const catalog = catalogOf(plan) as unknown as JsonValue;
  const tasks = plan.agents.map(({ name }) => ({
    ...{ id: name, pool, agent: name, needs: [], priority: 0, timeoutMs: 60_000 },
    ...{ attemptsMax: 3, backoffMs: 100, onFailure: 'fail' as const },
  }));
  const accepted = { plan: 'test', version: '1.0.0', digest: 'd', tasks };
  const drafts = [event('plan.accepted', accepted, { plan: json({}), catalog: json(catalog) })];
  bench.append(drafts, 'planner');
}

/** Gives a task to its pool. */
export function schedule(
  bench: BenchSession,
  task: string,
  given: { input?: JsonValue; attempt?: number; agent?: string; pool?: string } = {},
): void {
  const data = {
    ...{ task, attempt: given.attempt ?? 1, pool: given.pool ?? pool },
    ...{ agent: given.agent ?? task, priority: 0, deadlineAtMs: bench.nowMs + 60_000 },
  };
  const input = json(given.input ?? { path: 'a.txt' });
  bench.append([event('task.scheduled', data, { input })], 'supervisor');
}

/** The events of one type, oldest first. */
export function eventsOf<T extends SeenEvent['type']>(
  events: readonly SeenEvent[],
  type: T,
): SeenEvent<T>[] {
  return events.filter((one) => one.type === type) as unknown as SeenEvent<T>[];
}

/** The newest event of a type. */
export function newest<T extends SeenEvent['type']>(
  events: readonly SeenEvent[],
  type: T,
): SeenEvent<T> {
  const found = eventsOf(events, type).at(-1);
  if (found === undefined) throw new Error(`no ${type} in the session`);
  return found;
}

type Claimed = SeenEvent<'tool.claimed'> | SeenEvent<'model.claimed'>;
type ClaimData = Readonly<{ call: string; claim: string; attempt: number }>;

/**
 * What an outcome says of its claim; for a call that nobody claimed in this test, a made-up one.
 */
export const claimData = (claimed: Claimed | string): ClaimData =>
  typeof claimed === 'string'
    ? { call: claimed, claim: 'rec_none#0', attempt: 1 }
    : { call: claimed.data.call, claim: addressOf(claimed), attempt: claimed.data.attempt };

const durationMs = 5;

export const completed = (of: Claimed | string, result: JsonValue, exit?: string) => {
  const data = { ...claimData(of), tool: 'tool', durationMs };
  return event('tool.completed', exit === undefined ? data : { ...data, exit }, {
    result: json(result),
  });
};

export const failedCall = (
  of: Claimed | string,
  changes: Partial<DataOf<'tool.failed'>> = {},
): Draft<'tool.failed'> =>
  event(
    'tool.failed',
    {
      ...{ ...claimData(of), tool: 'tool', durationMs },
      ...{ code: 'TOOL_BROKE', class: 'tool-error' as const, retryable: true },
      ...changes,
    },
    { message: text('It broke.') },
  );

const tokens = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
const price = { costNanoUsd: 700, costKnown: true, priceVersion: 'p1' };
const usage = { inputTokens: 10, outputTokens: 3, ...tokens, ...price, durationMs };

export type Said = Readonly<{
  text?: string;
  calls?: readonly Readonly<{ id: string; name: string; arguments: JsonValue }>[];
  finishReason?: DataOf<'model.completed'>['finishReason'];
}>;

export function answered(of: Claimed | string, said: Said): Draft<'model.completed'> {
  const calls = said.calls ?? [];
  const message = json({ role: 'assistant', text: said.text ?? '', toolCalls: [...calls] });
  const data: DataOf<'model.completed'> = {
    ...{ ...claimData(of), provider: 'scripted', model: 'scripted/demo' },
    finishReason: said.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
    ...usage,
    toolCalls: calls.length,
  };
  return event('model.completed', data, { message });
}

export const failedModel = (
  of: Claimed | string,
  changes: Partial<DataOf<'model.failed'>> = {},
): Draft<'model.failed'> =>
  event(
    'model.failed',
    {
      ...{ ...claimData(of), provider: 'scripted', model: 'scripted/demo' },
      ...{ code: 'OVERLOADED', class: 'overloaded' as const, retryable: true },
      ...usage,
      ...changes,
    },
    { message: text('Too busy.') },
  );

export const toolRequested = (
  call: string,
  asked: Partial<DataOf<'tool.requested'>> & { arguments?: JsonValue } = {},
): Draft<'tool.requested'> => {
  const { arguments: given, ...changes } = asked;
  const data = {
    ...{ call, agent: 'reader.1', task: 'reader', attempt: 1, step: 1 },
    ...{ agentName: 'reader', tool: 'read' },
    ...changes,
  };
  return event('tool.requested', data, { arguments: json(given ?? { path: 'a.txt' }) });
};
