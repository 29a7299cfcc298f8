import type { JsonObject } from '../../schemas/json.ts';
import { isObject } from './decoded-record.ts';
import type { EventRow } from './row.ts';

/**
 * Members of an event's data that have columns of their own. Tokens and money stand only in the row of the call that
 * they were spent in, so that a sum over all rows counts nothing twice.
 */
export type HotColumns = Pick<
  EventRow,
  | 'agentId'
  | 'agentType'
  | 'taskId'
  | 'callId'
  | 'pool'
  | 'provider'
  | 'model'
  | 'tool'
  | 'status'
  | 'errorCode'
  | 'tokensIn'
  | 'tokensOut'
  | 'tokensCacheRead'
  | 'tokensCacheWrite'
  | 'tokensReasoning'
  | 'costNanoUsd'
  | 'priceVersion'
  | 'durationUs'
>;

const UINT32 = 2 ** 32 - 1;

/** Text, or nothing where it is none. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A whole number within the bounds of its column, whatever stands there. */
export function wholeOf(value: unknown, max: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !(value > 0)) return 0;
  return Math.min(Math.floor(value), max);
}

/** Text by name, as labels are. */
export function labelsOf(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  const pairs = Object.entries(value).filter((one) => typeof one[1] === 'string');
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** In a plan's scheduling the agent is a template; everywhere else it is one that runs. */
function agentOf(type: string, data: JsonObject): Pick<EventRow, 'agentId' | 'agentType'> {
  const agent = textOf(data.agent);
  if (type === 'task.scheduled') return { agentId: '', agentType: agent };
  const name = type === 'agent.created' ? data.name : data.agentName;
  return { agentId: agent, agentType: textOf(name) };
}

/** Requests name a model `provider/model`, answers have both apart. */
function modelOf(data: JsonObject): Pick<EventRow, 'provider' | 'model'> {
  const model = textOf(data.model);
  const provider = textOf(data.provider);
  const slash = model.indexOf('/');
  if (provider !== '' || slash < 1) return { provider, model };
  return { provider: model.slice(0, slash), model: model.slice(slash + 1) };
}

type Spending = Pick<
  EventRow,
  | 'tokensIn'
  | 'tokensOut'
  | 'tokensCacheRead'
  | 'tokensCacheWrite'
  | 'tokensReasoning'
  | 'costNanoUsd'
  | 'priceVersion'
>;

const nothingSpent: Spending = {
  tokensIn: 0,
  tokensOut: 0,
  tokensCacheRead: 0,
  tokensCacheWrite: 0,
  tokensReasoning: 0,
  costNanoUsd: 0,
  priceVersion: '',
};

const spendingTypes: ReadonlySet<string> = new Set([
  'model.completed',
  'model.failed',
  'tool.completed',
  'tool.failed',
]);

function spendingOf(type: string, data: JsonObject): Spending {
  if (!spendingTypes.has(type)) return nothingSpent;
  return {
    tokensIn: wholeOf(data.inputTokens, UINT32),
    tokensOut: wholeOf(data.outputTokens, UINT32),
    tokensCacheRead: wholeOf(data.cacheReadTokens, UINT32),
    tokensCacheWrite: wholeOf(data.cacheWriteTokens, UINT32),
    tokensReasoning: wholeOf(data.reasoningTokens, UINT32),
    costNanoUsd: wholeOf(data.costNanoUsd),
    priceVersion: textOf(data.priceVersion),
  };
}

/** The columns of one event. */
export function hotColumnsOf(type: string, data: JsonObject): HotColumns {
  return {
    ...agentOf(type, data),
    ...modelOf(data),
    ...spendingOf(type, data),
    taskId: textOf(data.task),
    callId: textOf(data.call),
    pool: textOf(data.pool),
    tool: textOf(data.tool),
    status: textOf(data.status),
    errorCode: textOf(data.code),
    durationUs: wholeOf(Number(data.durationMs ?? 0) * 1_000),
  };
}

export const noHotColumns: HotColumns = hotColumnsOf('', {});
