/**
 * Names of the GenAI and MCP conventions of OpenTelemetry, and our own beside them. The only place that spells them:
 * nothing of the conventions is stable yet, and names still move.
 */

/** State of `open-telemetry/semantic-conventions-genai` that these names follow. */
export const genAiConventions = '2026-09 (development)';

export const genAi = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  agentName: 'gen_ai.agent.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  /** Proposed, not agreed on (pull request 443 of the conventions). */
  costAmount: 'gen_ai.usage.cost.amount',
  costCurrency: 'gen_ai.usage.cost.currency',
  costSource: 'gen_ai.usage.cost.source',
  errorType: 'error.type',
} as const;

export const operations = {
  chat: 'chat',
  executeTool: 'execute_tool',
  invokeAgent: 'invoke_agent',
} as const;

/** Ours: what the conventions have no name for. Hashes are SHA-256 over a salt of the session and the bytes. */
export const own = {
  session: 'longrein.session',
  call: 'longrein.call',
  attempt: 'longrein.attempt',
  turn: 'longrein.turn',
  events: 'longrein.events',
  service: 'longrein.service',
  inputHash: 'longrein.input.hash',
  outputHash: 'longrein.output.hash',
  costNanoUsd: 'longrein.cost.nano_usd',
  cached: 'longrein.cached',
  isolation: 'longrein.isolation',
  outcome: 'longrein.outcome',
  lane: 'longrein.lane',
  topic: 'longrein.topic',
  pool: 'longrein.pool',
  host: 'longrein.host',
  release: 'longrein.release',
} as const;

export const genAiMetrics = {
  inferenceDuration: 'gen_ai.client.inference.duration',
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
  cacheReadTokens: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.client.inference.usage.reasoning.output_tokens',
  executeToolDuration: 'gen_ai.execute_tool.duration',
  invokeAgentDuration: 'gen_ai.invoke_agent.duration',
} as const;
