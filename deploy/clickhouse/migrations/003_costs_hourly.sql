-- Spending and calls per hour. Failed calls are in it because a failed model call may have cost
-- money; the column `type` tells them apart. Read it with sum(...), quantilesTDigestMerge(0.5,
-- 0.95, 0.99)(duration_us) and uniqMerge(sessions): rows of one key may still be apart.
CREATE TABLE IF NOT EXISTS longrein.costs_hourly
(
  tenant_id LowCardinality(String),
  hour DateTime('UTC'),
  type LowCardinality(String),
  pool LowCardinality(String),
  agent_type LowCardinality(String),
  provider LowCardinality(String),
  model LowCardinality(String),
  tool LowCardinality(String),
  calls SimpleAggregateFunction(sum, UInt64),
  errors SimpleAggregateFunction(sum, UInt64),
  tokens_in SimpleAggregateFunction(sum, UInt64),
  tokens_out SimpleAggregateFunction(sum, UInt64),
  tokens_cache_read SimpleAggregateFunction(sum, UInt64),
  tokens_cache_write SimpleAggregateFunction(sum, UInt64),
  tokens_reasoning SimpleAggregateFunction(sum, UInt64),
  cost_nano_usd SimpleAggregateFunction(sum, UInt64),
  duration_us AggregateFunction(quantilesTDigest(0.5, 0.95, 0.99), UInt64),
  sessions AggregateFunction(uniq, String)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (tenant_id, hour, type, pool, agent_type, provider, model, tool)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS longrein.costs_hourly_mv TO longrein.costs_hourly AS
SELECT
  e.tenant_id AS tenant_id,
  toStartOfHour(e.at) AS hour,
  e.type AS type,
  e.pool AS pool,
  e.agent_type AS agent_type,
  e.provider AS provider,
  e.model AS model,
  e.tool AS tool,
  count() AS calls,
  countIf(endsWith(e.type, '.failed')) AS errors,
  sum(toUInt64(e.tokens_in)) AS tokens_in,
  sum(toUInt64(e.tokens_out)) AS tokens_out,
  sum(toUInt64(e.tokens_cache_read)) AS tokens_cache_read,
  sum(toUInt64(e.tokens_cache_write)) AS tokens_cache_write,
  sum(toUInt64(e.tokens_reasoning)) AS tokens_reasoning,
  sum(e.cost_nano_usd) AS cost_nano_usd,
  quantilesTDigestState(0.5, 0.95, 0.99)(e.duration_us) AS duration_us,
  uniqState(e.session_id) AS sessions
FROM longrein.events AS e
WHERE e.effective = 1
  AND e.type IN ('model.completed', 'model.failed', 'tool.completed', 'tool.failed')
GROUP BY
  e.tenant_id, toStartOfHour(e.at), e.type, e.pool, e.agent_type, e.provider, e.model, e.tool;
