-- One thin row per try of a call that ended, in the order of time: no payload, so lists and
-- questions over a day read little. `late` = it came when nobody waited for it any more.
CREATE TABLE IF NOT EXISTS longrein.calls_thin
(
  tenant_id LowCardinality(String),
  at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
  session_id String CODEC(ZSTD(1)),
  k_offset UInt64 CODEC(Delta(8), ZSTD(1)),
  event_index UInt16,
  record_id String CODEC(ZSTD(1)),
  late UInt8,
  type LowCardinality(String),
  call_id String CODEC(ZSTD(1)),
  attempt UInt16 CODEC(T64, ZSTD(1)),
  task_id String CODEC(ZSTD(1)),
  task_attempt UInt16 CODEC(T64, ZSTD(1)),
  agent_id String CODEC(ZSTD(1)),
  agent_type LowCardinality(String),
  pool LowCardinality(String),
  step UInt32 CODEC(T64, ZSTD(1)),
  provider LowCardinality(String),
  model LowCardinality(String),
  tool LowCardinality(String),
  tool_version LowCardinality(String),
  isolation LowCardinality(String),
  sandbox_id String CODEC(ZSTD(1)),
  error_code LowCardinality(String),
  error_class LowCardinality(String),
  finish_reason LowCardinality(String),
  tokens_in UInt32 CODEC(T64, ZSTD(1)),
  tokens_out UInt32 CODEC(T64, ZSTD(1)),
  tokens_cache_read UInt32 CODEC(T64, ZSTD(1)),
  tokens_cache_write UInt32 CODEC(T64, ZSTD(1)),
  tokens_reasoning UInt32 CODEC(T64, ZSTD(1)),
  cost_nano_usd UInt64 CODEC(T64, ZSTD(1)),
  price_version LowCardinality(String),
  duration_us UInt64 CODEC(T64, ZSTD(1)),
  requested_at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
  principal String CODEC(ZSTD(1)),
  labels Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  release LowCardinality(String),
  trace_id String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (tenant_id, at, session_id, k_offset, event_index)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS longrein.calls_thin_mv TO longrein.calls_thin AS
SELECT
  e.tenant_id AS tenant_id, e.at AS at, e.session_id AS session_id, e.k_offset AS k_offset,
  e.event_index AS event_index, e.record_id AS record_id, toUInt8(e.effective = 0) AS late,
  e.type AS type, e.call_id AS call_id, e.attempt AS attempt, e.task_id AS task_id,
  e.task_attempt AS task_attempt, e.agent_id AS agent_id, e.agent_type AS agent_type,
  e.pool AS pool, e.step AS step, e.provider AS provider, e.model AS model, e.tool AS tool,
  e.tool_version AS tool_version, e.isolation AS isolation, e.sandbox_id AS sandbox_id,
  e.error_code AS error_code, e.error_class AS error_class, e.finish_reason AS finish_reason,
  e.tokens_in AS tokens_in, e.tokens_out AS tokens_out, e.tokens_cache_read AS tokens_cache_read,
  e.tokens_cache_write AS tokens_cache_write, e.tokens_reasoning AS tokens_reasoning,
  e.cost_nano_usd AS cost_nano_usd, e.price_version AS price_version,
  e.duration_us AS duration_us, e.requested_at AS requested_at, e.principal AS principal,
  e.labels AS labels, e.release AS release, e.trace_id AS trace_id
FROM longrein.events AS e
WHERE e.call_id != ''
  AND (
    (e.effective = 1 AND e.kind IN ('turn', 'input') AND e.type IN (
      'model.completed', 'model.failed', 'model.attempt-failed', 'model.denied',
      'tool.completed', 'tool.failed', 'tool.denied', 'tool.unknown'))
    OR (e.effective = 0 AND e.kind = 'input' AND e.type IN (
      'model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed'))
  );

-- What was stored before this release. Run again it adds nothing.
INSERT INTO longrein.calls_thin
SELECT
  e.tenant_id, e.at, e.session_id, e.k_offset, e.event_index, e.record_id,
  toUInt8(e.effective = 0), e.type, e.call_id, e.attempt, e.task_id, e.task_attempt, e.agent_id,
  e.agent_type, e.pool, e.step, e.provider, e.model, e.tool, e.tool_version, e.isolation,
  e.sandbox_id, e.error_code, e.error_class, e.finish_reason, e.tokens_in, e.tokens_out,
  e.tokens_cache_read, e.tokens_cache_write, e.tokens_reasoning, e.cost_nano_usd,
  e.price_version, e.duration_us, e.requested_at, e.principal, e.labels, e.release, e.trace_id
FROM longrein.events AS e
WHERE e.call_id != ''
  AND (
    (e.effective = 1 AND e.kind IN ('turn', 'input') AND e.type IN (
      'model.completed', 'model.failed', 'model.attempt-failed', 'model.denied',
      'tool.completed', 'tool.failed', 'tool.denied', 'tool.unknown'))
    OR (e.effective = 0 AND e.kind = 'input' AND e.type IN (
      'model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed'))
  )
  AND (e.tenant_id, e.session_id, e.k_offset, e.event_index) NOT IN (
    SELECT tenant_id, session_id, k_offset, event_index FROM longrein.calls_thin
  );

-- One thin row per task. Times and numbers are lowest or highest, so that rows can be joined in any
-- order.
CREATE TABLE IF NOT EXISTS longrein.tasks_thin
(
  tenant_id LowCardinality(String),
  session_id String,
  task_id String,
  pool SimpleAggregateFunction(max, String),
  agent_type SimpleAggregateFunction(max, String),
  labels SimpleAggregateFunction(max, String),
  attempts SimpleAggregateFunction(max, UInt16),
  scheduled_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  started_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  failed_at SimpleAggregateFunction(max, Nullable(DateTime64(3, 'UTC'))),
  timed_out_at SimpleAggregateFunction(max, Nullable(DateTime64(3, 'UTC'))),
  completed_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  abandoned_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  skipped_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  cancelled_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))),
  error_code SimpleAggregateFunction(max, String),
  calls SimpleAggregateFunction(sum, UInt64),
  tokens SimpleAggregateFunction(sum, UInt64),
  cost_nano_usd SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, session_id, task_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS longrein.tasks_thin_mv TO longrein.tasks_thin AS
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  e.task_id AS task_id,
  max(toString(e.pool)) AS pool,
  max(toString(e.agent_type)) AS agent_type,
  max(if(empty(e.labels), '', toJSONString(mapSort(e.labels)))) AS labels,
  max(if(startsWith(e.type, 'task.'), e.attempt, 0)) AS attempts,
  minOrNullIf(e.at, e.type = 'task.scheduled') AS scheduled_at,
  minOrNullIf(e.at, e.type = 'agent.started') AS started_at,
  maxOrNullIf(e.at, e.type = 'task.failed') AS failed_at,
  maxOrNullIf(e.at, e.type = 'task.timed-out') AS timed_out_at,
  minOrNullIf(e.at, e.type = 'task.completed') AS completed_at,
  minOrNullIf(e.at, e.type = 'task.abandoned') AS abandoned_at,
  minOrNullIf(e.at, e.type = 'task.skipped') AS skipped_at,
  minOrNullIf(e.at, e.type = 'task.cancelled') AS cancelled_at,
  max(if(e.type IN ('task.abandoned', 'task.failed'), toString(e.error_code), '')) AS error_code,
  countIf(e.type IN ('model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed')) AS calls,
  sum(toUInt64(e.tokens_in) + toUInt64(e.tokens_out)) AS tokens,
  sum(e.cost_nano_usd) AS cost_nano_usd
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.task_id != ''
  AND (startsWith(e.type, 'task.') OR e.type IN
    ('agent.started', 'model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed'))
GROUP BY e.tenant_id, e.session_id, e.task_id;

INSERT INTO longrein.tasks_thin
SELECT
  e.tenant_id, e.session_id, e.task_id, max(toString(e.pool)), max(toString(e.agent_type)),
  max(if(empty(e.labels), '', toJSONString(mapSort(e.labels)))),
  max(toUInt16(JSONExtractUInt(e.data, 'attempt'))),
  minOrNullIf(e.at, e.type = 'task.scheduled'), CAST(NULL AS Nullable(DateTime64(3, 'UTC'))),
  maxOrNullIf(e.at, e.type = 'task.failed'), maxOrNullIf(e.at, e.type = 'task.timed-out'),
  minOrNullIf(e.at, e.type = 'task.completed'), minOrNullIf(e.at, e.type = 'task.abandoned'),
  minOrNullIf(e.at, e.type = 'task.skipped'), minOrNullIf(e.at, e.type = 'task.cancelled'),
  max(if(e.type IN ('task.abandoned', 'task.failed'), toString(e.error_code), '')), 0, 0, 0
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.task_id != ''
  AND startsWith(e.type, 'task.')
  AND (e.tenant_id, e.session_id, e.task_id) NOT IN (
    SELECT tenant_id, session_id, task_id FROM longrein.tasks_thin
  )
GROUP BY e.tenant_id, e.session_id, e.task_id;

-- Sessions: what was spent on tries that failed, and where the session ran.
ALTER TABLE longrein.sessions_thin
  ADD COLUMN IF NOT EXISTS lane SimpleAggregateFunction(max, String),
  ADD COLUMN IF NOT EXISTS plan SimpleAggregateFunction(max, String),
  ADD COLUMN IF NOT EXISTS budget_nano_usd SimpleAggregateFunction(max, UInt64),
  ADD COLUMN IF NOT EXISTS failed_calls SimpleAggregateFunction(sum, UInt64),
  ADD COLUMN IF NOT EXISTS tokens_cache_read SimpleAggregateFunction(sum, UInt64),
  ADD COLUMN IF NOT EXISTS cost_failed_nano_usd SimpleAggregateFunction(sum, UInt64);

ALTER TABLE longrein.sessions_thin_mv MODIFY QUERY
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  max(toString(e.k_topic)) AS topic,
  max(if(e.type = 'session.opened', JSONExtractString(e.data, 'goalId'), '')) AS goal_id,
  max(if(e.type = 'session.opened', JSONExtractString(e.data, 'source'), '')) AS source,
  max(if(e.type = 'session.opened', e.principal, '')) AS principal,
  max(if(e.type = 'session.opened', toJSONString(mapSort(e.labels)), '')) AS labels,
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
  countIf(e.type IN ('model.completed', 'model.failed', 'model.attempt-failed')) AS model_calls,
  countIf(e.type IN ('tool.completed', 'tool.failed')) AS tool_calls,
  sumIf(toUInt64(e.tokens_in), e.type IN ('model.completed', 'model.failed', 'model.attempt-failed')) AS tokens_in,
  sumIf(toUInt64(e.tokens_out), e.type IN ('model.completed', 'model.failed', 'model.attempt-failed')) AS tokens_out,
  sumIf(
    e.cost_nano_usd,
    e.type IN ('model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed')
  ) AS cost_nano_usd,
  max(if(e.type = 'session.opened', JSONExtractString(e.data, 'lane'), '')) AS lane,
  max(if(e.type = 'session.opened', JSONExtractString(e.data, 'plan'), '')) AS plan,
  max(if(e.type = 'session.opened', JSONExtractUInt(e.data, 'budgetNanoUsd'), 0)) AS budget_nano_usd,
  countIf(e.type IN ('model.failed', 'model.attempt-failed', 'tool.failed')) AS failed_calls,
  sum(toUInt64(e.tokens_cache_read)) AS tokens_cache_read,
  sumIf(e.cost_nano_usd, e.type IN ('model.failed', 'model.attempt-failed', 'tool.failed')) AS cost_failed_nano_usd
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.session_id != ''
GROUP BY e.tenant_id, e.session_id;
