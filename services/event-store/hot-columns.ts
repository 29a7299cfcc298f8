import type { JsonObject } from '../../schemas/json.ts';
import { replayedPrice } from '../chassis/protocol/event-kinds.ts';
import { textOf, wholeOf } from './column-values.ts';
import type { RowDraft } from './row.ts';
import type { EventContext } from './session-context.ts';

/**
 * Members of an event's data that have columns of their own. Tokens and money stand only in the row
 * of the call that they were spent in, so that a sum over all rows counts nothing twice.
 */

const UINT16 = 2 ** 16 - 1;
const UINT32 = 2 ** 32 - 1;
/** The last moment that a column can hold. */
const timeMax = Date.UTC(2200, 0) - 1;

/** In a plan's scheduling the agent is a template; everywhere else it is one that runs. */
function fillAgent(row: RowDraft, type: string, data: JsonObject): void {
  const agent = textOf(data.agent);
  if (type === 'task.scheduled') {
    row.agentType = agent;
    return;
  }
  row.agentId = agent;
  row.agentType = textOf(type === 'agent.created' ? data.name : data.agentName);
}

/** Requests name a model `provider/model`, answers have both apart. */
function fillModel(row: RowDraft, data: JsonObject): void {
  const model = textOf(data.model);
  const provider = textOf(data.provider);
  const slash = provider === '' ? model.indexOf('/') : -1;
  row.provider = slash < 1 ? provider : model.slice(0, slash);
  row.model = slash < 1 ? model : model.slice(slash + 1);
}

const spendingTypes: ReadonlySet<string> = new Set([
  'model.completed',
  'model.failed',
  'model.attempt-failed',
  'tool.completed',
  'tool.failed',
]);

function fillSpending(row: RowDraft, data: JsonObject): void {
  row.priceVersion = textOf(data.priceVersion);
  // Paid for by the session that the answer is repeated from.
  if (row.priceVersion === replayedPrice) return;
  row.tokensIn = wholeOf(data.inputTokens, UINT32);
  row.tokensOut = wholeOf(data.outputTokens, UINT32);
  row.tokensCacheRead = wholeOf(data.cacheReadTokens, UINT32);
  row.tokensCacheWrite = wholeOf(data.cacheWriteTokens, UINT32);
  row.tokensReasoning = wholeOf(data.reasoningTokens, UINT32);
  row.costNanoUsd = wholeOf(data.costNanoUsd);
}

/** Fills the columns of one event into a blank row. */
export function fillHotColumns(row: RowDraft, type: string, data: JsonObject): void {
  fillAgent(row, type, data);
  fillModel(row, data);
  if (spendingTypes.has(type)) fillSpending(row, data);
  row.taskId = textOf(data.task);
  row.callId = textOf(data.call);
  row.pool = textOf(data.pool);
  row.tool = textOf(data.tool);
  row.status = textOf(data.status);
  row.errorCode = textOf(data.code);
  row.errorClass = textOf(data.class);
  row.finishReason = textOf(data.finishReason);
  row.attempt = wholeOf(data.attempt, UINT16);
  row.step = wholeOf(data.step, UINT32);
  row.toolVersion = textOf(data.toolVersion);
  row.isolation = textOf(data.isolation);
  row.sandboxId = textOf(data.sandbox);
  row.durationUs = wholeOf(Number(data.durationMs ?? 0) * 1_000);
}

/** Fills what the event leaves open from what its session has said before. */
export function fillContext(row: RowDraft, context: EventContext | undefined): void {
  if (context === undefined) return;
  row.taskId ||= context.taskId ?? '';
  row.agentId ||= context.agentId ?? '';
  row.agentType ||= context.agentType ?? '';
  row.pool ||= context.pool ?? '';
  row.tool ||= context.tool ?? '';
  row.toolVersion ||= context.toolVersion ?? '';
  row.sandboxId ||= context.sandboxId ?? '';
  row.release ||= context.release ?? '';
  row.attempt = Math.max(row.attempt, Math.min(context.attempt ?? 0, UINT16));
  row.step ||= Math.min(context.step ?? 0, UINT32);
  row.taskAttempt ||= Math.min(context.taskAttempt ?? 0, UINT16);
  row.requestedAtMs = wholeOf(context.requestedAtMs, timeMax);
}
