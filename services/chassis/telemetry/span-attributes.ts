import type { SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { EventRecord } from '../protocol/event-record.ts';
import { sha256 } from '../protocol/hash.ts';
import { genAi, operations, own } from './gen-ai.ts';

/** What spans say of calls and agents: names, hashes, tokens and money; never what was written. */

/** What is known of a call from its request. */
export type CallNote = Readonly<{ agentName: string; inputHash: string }>;

const nanoPerUsd = 1_000_000_000;
type Data = Readonly<Record<string, JsonValue | undefined>>;
type Contents = Readonly<Record<string, Readonly<{ digest: string }> | undefined>>;

/** One digest for all parts of a content: its own where there is one part. Empty where there is none. */
export function hashOfContents(contents: Contents | undefined): string {
  const digests = Object.entries(contents ?? {})
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, content]) => (content === undefined ? [] : [[name, content.digest] as const]));
  const [first] = digests;
  if (digests.length <= 1) return first?.[1] ?? '';
  return sha256(digests.map(([name, digest]) => `${name} ${digest}`).join('\n'));
}

export function noteOf(seen: SeenEvent): CallNote | undefined {
  if (seen.type !== 'tool.requested' && seen.type !== 'model.requested') return undefined;
  const { agentName = '' } = seen.data as { agentName?: string };
  return { agentName, inputHash: hashOfContents(seen.content as Contents) };
}

/** Members with values only. */
const given = (members: Record<string, JsonValue | undefined>): JsonObject =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== ''),
  ) as JsonObject;

/** The span of an effect, by its claim. */
export function spanNameOf({ type, data, service }: SeenEvent): string {
  const { tool, model } = data as { tool?: string; model?: string };
  if (type === 'tool.claimed') return `${operations.executeTool} ${tool}`;
  if (type === 'model.claimed') return `${operations.chat} ${model}`;
  return `effect ${service}`;
}

export function claimAttributes(
  claim: SeenEvent,
  at: { session: string; service: string; note: CallNote | undefined },
): JsonObject {
  const { call, attempt, tool, model } = claim.data as unknown as Data;
  const { session, service, note } = at;
  const isTool = claim.type === 'tool.claimed';
  const isModel = claim.type === 'model.claimed';
  const operation = isTool ? operations.executeTool : isModel ? operations.chat : undefined;
  return given({
    [own.call]: call,
    [own.attempt]: attempt,
    [own.session]: session,
    [own.service]: service,
    [own.inputHash]: note?.inputHash,
    [genAi.operation]: operation,
    [genAi.conversation]: operation === undefined ? undefined : session,
    [genAi.agentName]: note?.agentName,
    [genAi.toolName]: tool,
    [genAi.toolType]: isTool ? 'function' : undefined,
    [genAi.toolCallId]: isTool ? call : undefined,
    [genAi.requestModel]: model,
  });
}

function usageAttributes(data: Data): JsonObject {
  const { costNanoUsd } = data;
  const money = typeof costNanoUsd === 'number';
  return given({
    [genAi.inputTokens]: data['inputTokens'],
    [genAi.outputTokens]: data['outputTokens'],
    [genAi.cacheReadTokens]: data['cacheReadTokens'],
    [genAi.cacheWriteTokens]: data['cacheWriteTokens'],
    [genAi.reasoningTokens]: data['reasoningTokens'],
    [own.costNanoUsd]: costNanoUsd,
    [genAi.costAmount]: money ? costNanoUsd / nanoPerUsd : undefined,
    [genAi.costCurrency]: money ? 'USD' : undefined,
    [genAi.costSource]: money ? 'local' : undefined,
  });
}

/** Of the outcome of an effect, as it goes into the log. */
export function outcomeAttributes({ data, content }: EventRecord): JsonObject {
  const { provider, model, finishReason, code, isolation, cached } = data as Data;
  return {
    ...usageAttributes(data),
    ...given({
      [own.outputHash]: hashOfContents(content),
      [own.isolation]: isolation,
      [own.cached]: cached,
      [genAi.provider]: provider,
      [genAi.responseModel]: model,
      [genAi.finishReasons]: finishReason === undefined ? undefined : [finishReason],
      [genAi.errorType]: code,
    }),
  };
}

/** Of an agent that has ended. */
export function agentAttributes(
  seen: SeenEvent,
  { session, agentName }: { session: string; agentName: string },
): JsonObject {
  const data = seen.data as unknown as Data;
  return {
    ...usageAttributes(data),
    ...given({
      [own.session]: session,
      [genAi.operation]: operations.invokeAgent,
      [genAi.conversation]: session,
      [genAi.agentName]: agentName,
      [genAi.errorType]: data['code'],
    }),
  };
}
