-- Forks that go on live are sessions of their own, which say whose past they share.
ALTER TABLE longrein.sessions_thin
  ADD COLUMN IF NOT EXISTS fork_of SimpleAggregateFunction(max, String),
  ADD COLUMN IF NOT EXISTS fork_at SimpleAggregateFunction(max, String);

ALTER TABLE longrein.sessions_thin_mv MODIFY QUERY
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  max(toString(e.k_topic)) AS topic,
  max(if(e.type IN ('session.opened', 'session.forked'), JSONExtractString(e.data, 'goalId'), '')) AS goal_id,
  max(if(e.type IN ('session.opened', 'session.forked'), JSONExtractString(e.data, 'source'), '')) AS source,
  max(if(e.type IN ('session.opened', 'session.forked'), e.principal, '')) AS principal,
  max(if(e.type IN ('session.opened', 'session.forked'), toJSONString(mapSort(e.labels)), '')) AS labels,
  max(if(e.type IN ('session.opened', 'session.forked'), JSONExtractUInt(e.data, 'valueNanoUsd'), 0)) AS value_nano_usd,
  minOrNullIf(e.at, e.type IN ('session.opened', 'session.forked')) AS opened_at,
  minOrNullIf(e.at, e.type = 'session.completed') AS completed_at,
  minOrNullIf(e.at, e.type = 'session.failed') AS failed_at,
  minOrNullIf(e.at, e.type = 'session.cancelled') AS cancelled_at,
  minOrNullIf(e.at, e.type = 'session.closed') AS closed_at,
  minOrNullIf(e.at, e.type = 'result.published') AS result_at,
  max(e.at) AS last_at,
  max(if(e.type = 'session.failed', toString(e.error_code), '')) AS error_code,
  count() AS events,
  countIf(e.type IN ('model.completed', 'model.failed', 'model.attempt-failed')) AS model_calls,
  countIf(e.type IN ('tool.completed', 'tool.failed')) AS tool_calls,
  sumIf(toUInt64(e.tokens_in), e.type IN ('model.completed', 'model.failed', 'model.attempt-failed')) AS tokens_in,
  sumIf(toUInt64(e.tokens_out), e.type IN ('model.completed', 'model.failed', 'model.attempt-failed')) AS tokens_out,
  sumIf(
    e.cost_nano_usd,
    e.type IN ('model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed')
  ) AS cost_nano_usd,
  max(if(e.type IN ('session.opened', 'session.forked'), JSONExtractString(e.data, 'lane'), '')) AS lane,
  max(if(e.type IN ('session.opened', 'session.forked'), JSONExtractString(e.data, 'plan'), '')) AS plan,
  max(if(e.type IN ('session.opened', 'session.forked'), JSONExtractUInt(e.data, 'budgetNanoUsd'), 0)) AS budget_nano_usd,
  countIf(e.type IN ('model.failed', 'model.attempt-failed', 'tool.failed')) AS failed_calls,
  sum(toUInt64(e.tokens_cache_read)) AS tokens_cache_read,
  sumIf(e.cost_nano_usd, e.type IN ('model.failed', 'model.attempt-failed', 'tool.failed')) AS cost_failed_nano_usd,
  max(if(e.type = 'session.forked', JSONExtractString(e.data, 'of'), '')) AS fork_of,
  max(if(e.type = 'session.forked', JSONExtractString(e.data, 'at'), '')) AS fork_at
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.session_id != ''
GROUP BY e.tenant_id, e.session_id;

CREATE OR REPLACE VIEW longrein.sessions
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'the session, one per goal',
  goal_id String COMMENT 'id that the asking system gave the goal',
  source String COMMENT 'the asking system',
  topic String COMMENT 'Kafka topic of the session''s log',
  lane String COMMENT 'lane: high, normal, bulk or one of your own',
  plan String COMMENT 'plan that the goal named; empty: one was made for it',
  principal String COMMENT 'who asked',
  labels Map(String, String) COMMENT 'labels of the goal, such as a cost centre',
  opened_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was opened',
  ended_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was completed, failed or cancelled; empty: not yet',
  last_at DateTime64(3, 'UTC') COMMENT 'its newest event',
  duration_ms Nullable(Int64) COMMENT 'from opened to ended, in milliseconds',
  status String COMMENT 'running, completed, failed, cancelled or closed',
  closed UInt8 COMMENT '1 = its log has ended',
  result_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when the result was published',
  error_code String COMMENT 'why it failed; empty: it did not',
  events UInt64 COMMENT 'events that count',
  model_calls UInt64 COMMENT 'tries of model calls that were answered',
  tool_calls UInt64 COMMENT 'tries of tool calls that were answered',
  failed_calls UInt64 COMMENT 'of both, those that failed',
  tokens_in UInt64 COMMENT 'input tokens, cached ones included',
  tokens_out UInt64 COMMENT 'output tokens, reasoning included',
  tokens_cache_read UInt64 COMMENT 'input tokens read from the provider''s cache',
  cost_nano_usd UInt64 COMMENT 'money spent, in nano-USD',
  cost_usd Decimal(38, 9) COMMENT 'money spent, in USD, exact',
  cost_failed_nano_usd UInt64 COMMENT 'of it, spent on tries that failed',
  value_nano_usd UInt64 COMMENT 'what the result is worth as the goal said, in nano-USD; 0: not said',
  value_usd Decimal(38, 9) COMMENT 'the same in USD',
  budget_nano_usd UInt64 COMMENT 'most that it may spend; 0: no budget',
  fork_of String COMMENT 'the session whose past this fork shares; empty: it is no fork. Its figures are its own',
  fork_at String COMMENT 'the event there that the fork decided again, as offset and index'
)
AS SELECT
  s.tenant_id AS tenant_id,
  s.session_id AS session_id,
  max(s.goal_id) AS goal_id,
  max(s.source) AS source,
  max(s.topic) AS topic,
  max(s.lane) AS lane,
  max(s.plan) AS plan,
  max(s.principal) AS principal,
  JSONExtract(max(s.labels), 'Map(String, String)') AS labels,
  min(s.opened_at) AS opened_at,
  coalesce(min(s.cancelled_at), min(s.failed_at), min(s.completed_at)) AS ended_at,
  max(s.last_at) AS last_at,
  dateDiff('millisecond', min(s.opened_at),
    coalesce(min(s.cancelled_at), min(s.failed_at), min(s.completed_at))) AS duration_ms,
  multiIf(
    min(s.cancelled_at) IS NOT NULL, 'cancelled',
    min(s.failed_at) IS NOT NULL, 'failed',
    min(s.completed_at) IS NOT NULL, 'completed',
    min(s.closed_at) IS NOT NULL, 'closed',
    'running'
  ) AS status,
  min(s.closed_at) IS NOT NULL AS closed,
  min(s.result_at) AS result_at,
  max(s.error_code) AS error_code,
  sum(s.events) AS events,
  sum(s.model_calls) AS model_calls,
  sum(s.tool_calls) AS tool_calls,
  sum(s.failed_calls) AS failed_calls,
  sum(s.tokens_in) AS tokens_in,
  sum(s.tokens_out) AS tokens_out,
  sum(s.tokens_cache_read) AS tokens_cache_read,
  sum(s.cost_nano_usd) AS cost_nano_usd,
  CAST(sum(s.cost_nano_usd) AS Decimal(38, 9)) / 1000000000 AS cost_usd,
  sum(s.cost_failed_nano_usd) AS cost_failed_nano_usd,
  max(s.value_nano_usd) AS value_nano_usd,
  CAST(max(s.value_nano_usd) AS Decimal(38, 9)) / 1000000000 AS value_usd,
  max(s.budget_nano_usd) AS budget_nano_usd,
  max(s.fork_of) AS fork_of,
  max(s.fork_at) AS fork_at
FROM longrein.sessions_thin AS s
GROUP BY s.tenant_id, s.session_id
HAVING min(s.opened_at) IS NOT NULL
COMMENT 'One row per session, that is per goal.';
