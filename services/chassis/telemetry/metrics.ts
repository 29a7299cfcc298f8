import { genAi, genAiMetrics, own } from './gen-ai.ts';
import type { Metric } from './meter.ts';

/**
 * Every metric of a process. `docs/metrics.md` has a row for each, and a test compares them. Each effective event is
 * counted by the process that wrote it, so that sums over processes count it once.
 */

/** From a tool that answers at once to a call of ten minutes, in seconds. */
const callBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** From a demo to a session that waits a day for a person, in seconds. */
const workBounds = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 14_400, 86_400];
const restoreBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

const counter = (
  name: string,
  unit: Metric['unit'],
  about: string,
  ...labels: string[]
): Metric => ({ name, kind: 'counter', unit, about, labels });
const gauge = (name: string, unit: Metric['unit'], about: string, ...labels: string[]): Metric => ({
  ...{ name, kind: 'gauge', unit, about, labels },
});
const seconds = (
  name: string,
  about: string,
  bounds: readonly number[],
  ...labels: string[]
): Metric => ({ name, kind: 'histogram', unit: 's', about, labels, bounds });

export const metrics = {
  events: counter('longrein.events', '{event}', 'Effective events written', own.service),
  goalsRejected: counter('longrein.goals.rejected', '{goal}', 'Goals that intake refused'),
  sessionsOpened: counter('longrein.sessions.opened', '{session}', 'Goals admitted', own.lane),
  sessionsEnded: counter('longrein.sessions.ended', '{session}', 'Sessions by end', own.outcome),
  sessionDuration: seconds(
    'longrein.session.duration',
    'From the opening of a session to its end',
    workBounds,
    own.outcome,
  ),
  inferenceDuration: seconds(
    genAiMetrics.inferenceDuration,
    'Model calls, each try by itself',
    callBounds,
    genAi.requestModel,
    own.outcome,
  ),
  inputTokens: counter(
    genAiMetrics.inputTokens,
    '{token}',
    'Tokens read by models, cached ones included',
    genAi.requestModel,
  ),
  outputTokens: counter(
    genAiMetrics.outputTokens,
    '{token}',
    'Tokens written by models',
    genAi.requestModel,
  ),
  cacheReadTokens: counter(
    genAiMetrics.cacheReadTokens,
    '{token}',
    'Tokens that a provider had in its cache',
    genAi.requestModel,
  ),
  cacheWriteTokens: counter(
    genAiMetrics.cacheWriteTokens,
    '{token}',
    'Tokens that a provider put into its cache',
    genAi.requestModel,
  ),
  reasoningTokens: counter(
    genAiMetrics.reasoningTokens,
    '{token}',
    'Tokens of reasoning among those written',
    genAi.requestModel,
  ),
  cost: counter('longrein.cost', 'USD', 'What model calls cost', genAi.requestModel),
  toolDuration: seconds(
    genAiMetrics.executeToolDuration,
    'Tool calls, from the claim to the outcome',
    callBounds,
    genAi.toolName,
    own.outcome,
  ),
  toolRoundTrip: seconds(
    'longrein.tool.round_trip',
    'From the request of a tool call to its outcome in the log',
    callBounds,
    genAi.toolName,
  ),
  agentDuration: seconds(
    genAiMetrics.invokeAgentDuration,
    'Agents, from start to end',
    workBounds,
    own.outcome,
  ),
  agentIdle: counter(
    'longrein.agent.idle',
    's',
    'Part of the time of ended agents in which no model and no tool worked for them',
  ),
  steps: counter('longrein.steps', '{step}', 'Calls of models and tools that were begun'),
  stepsLost: counter('longrein.steps.lost', '{step}', 'Calls whose end nobody knows'),
  stepsRepeated: counter(
    'longrein.steps.repeated',
    '{step}',
    'Calls begun again though they had not failed',
  ),
  decisionsFailed: counter(
    'longrein.decisions.failed',
    '{decision}',
    'Decisions that failed for good',
    own.service,
  ),
  recoveries: counter(
    'longrein.task.recoveries',
    '{attempt}',
    'Attempts that error policies made: restart, replace, escalate',
    own.outcome,
  ),
  templatesSuspended: counter(
    'longrein.templates.suspended',
    '{template}',
    'How often a template was taken out by its breaker, or stayed out after a probe',
  ),
  templatesResumed: counter(
    'longrein.templates.resumed',
    '{template}',
    'How often a template came back',
  ),
  toolCallsSuspended: counter(
    'longrein.tool.calls.suspended',
    '{call}',
    'Calls that the breaker of their tool turned away',
    genAi.toolName,
  ),
  rehydration: seconds(
    'longrein.partition.rehydration',
    'From the assignment of a partition to its ownership: reading and folding its sessions',
    restoreBounds,
  ),
  rehydrations: counter(
    'longrein.partition.rehydrations',
    '{partition}',
    'Partitions that were taken over, or could not be',
    own.outcome,
  ),
  ready: gauge('longrein.ready', '{host}', '1 where the process is ready, else 0'),
  serviceReady: gauge(
    'longrein.service.ready',
    '{service}',
    '1 where the service is ready in this process, else 0',
    own.service,
  ),
  hostInfo: gauge('longrein.host.info', '{host}', 'Always 1', own.host, own.release),
  partitionsOwned: gauge(
    'longrein.partitions.owned',
    '{partition}',
    'Partitions owned',
    own.service,
  ),
  partitionsHalted: gauge(
    'longrein.partitions.halted',
    '{partition}',
    'Partitions that stand still',
  ),
  logLag: gauge('longrein.log.lag', '{record}', 'Records not taken yet', own.topic),
  storeLag: gauge('longrein.store.lag', '{record}', 'Records not stored yet', own.topic),
  storeLagAge: gauge(
    'longrein.store.lag.age',
    's',
    'Age of the oldest record that is not stored yet',
    own.topic,
  ),
  storeRetentionUsed: gauge(
    'longrein.store.retention.used',
    '1',
    'That age as a part of the time after which its topic forgets it',
    own.topic,
  ),
  storeTroubles: gauge(
    'longrein.store.troubles',
    '{partition}',
    'Partitions that cannot be read into the event store',
  ),
  poolPending: gauge(
    'longrein.pool.pending',
    '{task}',
    'Tasks that no worker has taken yet',
    own.pool,
  ),
  poolWaiting: gauge(
    'longrein.pool.waiting',
    '{task}',
    'Tasks that wait for a place within the limits of their pool',
    own.pool,
  ),
  poolRunning: gauge('longrein.pool.running', '{task}', 'Tasks whose agent runs', own.pool),
  poolOldest: gauge(
    'longrein.pool.pending.oldest',
    's',
    'For how long the oldest pending task has waited',
    own.pool,
  ),
  memory: gauge('process.memory.usage', 'By', 'Resident memory of the process'),
} as const satisfies Record<string, Metric>;
