-- One thin row per session, for lists: no payload is read to show them.
CREATE TABLE IF NOT EXISTS longrein.sessions_thin
(
  tenant_id LowCardinality(String),
  session_id String,
  topic SimpleAggregateFunction(max, String),
  goal_id SimpleAggregateFunction(max, String),
  source SimpleAggregateFunction(max, String),
  principal SimpleAggregateFunction(max, String),
  labels SimpleAggregateFunction(max, String),
  value_nano_usd SimpleAggregateFunction(max, UInt64),
  opened_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  completed_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  failed_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  cancelled_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  closed_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  result_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  last_at SimpleAggregateFunction(max, DateTime64(3, 'UTC')),
  error_code SimpleAggregateFunction(max, String),
  events SimpleAggregateFunction(sum, UInt64),
  model_calls SimpleAggregateFunction(sum, UInt64),
  tool_calls SimpleAggregateFunction(sum, UInt64),
  tokens_in SimpleAggregateFunction(sum, UInt64),
  tokens_out SimpleAggregateFunction(sum, UInt64),
  cost_nano_usd SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, session_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- Only the session's own log counts: copies of its events on other topics are left out by their
-- kind.
CREATE MATERIALIZED VIEW IF NOT EXISTS longrein.sessions_thin_mv TO longrein.sessions_thin AS
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  max(toString(e.k_topic)) AS topic,
  max(if(e.type = 'session.opened', JSONExtractString(e.data, 'goalId'), '')) AS goal_id,
  max(if(e.type = 'session.opened', JSONExtractString(e.data, 'source'), '')) AS source,
  max(if(e.type = 'session.opened', e.principal, '')) AS principal,
  max(if(e.type = 'session.opened', toJSONString(e.labels), '')) AS labels,
  max(if(e.type = 'session.opened', JSONExtractUInt(e.data, 'valueNanoUsd'), 0)) AS value_nano_usd,
  minOrNullIf(e.at, e.type = 'session.opened') AS opened_at,
  minOrNullIf(e.at, e.type = 'session.completed') AS completed_at,
  minOrNullIf(e.at, e.type = 'session.failed') AS failed_at,
  minOrNullIf(e.at, e.type = 'session.cancelled') AS cancelled_at,
  minOrNullIf(e.at, e.type = 'session.closed') AS closed_at,
  minOrNullIf(e.at, e.type = 'result.published') AS result_at,
  max(e.at) AS last_at,
  max(if(e.type = 'session.failed', toString(e.error_code), '')) AS error_code,
  count() AS events,
  countIf(e.type IN ('model.completed', 'model.failed')) AS model_calls,
  countIf(e.type IN ('tool.completed', 'tool.failed')) AS tool_calls,
  sumIf(toUInt64(e.tokens_in), e.type IN ('model.completed', 'model.failed')) AS tokens_in,
  sumIf(toUInt64(e.tokens_out), e.type IN ('model.completed', 'model.failed')) AS tokens_out,
  sumIf(
    e.cost_nano_usd,
    e.type IN ('model.completed', 'model.failed', 'tool.completed', 'tool.failed')
  ) AS cost_nano_usd
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.session_id != ''
GROUP BY e.tenant_id, e.session_id;

-- Sessions that opened. A session log of another kind (goals, keys, budgets) never has
-- session.opened.
CREATE OR REPLACE VIEW longrein.sessions AS
SELECT
  s.tenant_id AS tenant_id,
  s.session_id AS session_id,
  max(s.goal_id) AS goal_id,
  max(s.source) AS source,
  max(s.topic) AS topic,
  max(s.principal) AS principal,
  JSONExtract(max(s.labels), 'Map(String, String)') AS labels,
  min(s.opened_at) AS opened_at,
  coalesce(min(s.cancelled_at), min(s.failed_at), min(s.completed_at)) AS ended_at,
  max(s.last_at) AS last_at,
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
  sum(s.tokens_in) AS tokens_in,
  sum(s.tokens_out) AS tokens_out,
  sum(s.cost_nano_usd) AS cost_nano_usd,
  max(s.value_nano_usd) AS value_nano_usd
FROM longrein.sessions_thin AS s
GROUP BY s.tenant_id, s.session_id
HAVING min(s.opened_at) IS NOT NULL;
