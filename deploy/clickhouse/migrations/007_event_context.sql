-- Columns that an event's row takes from earlier events of its session (who asked for the call,
-- under which task, since when), so that spending can be summed by agent without a join. Rows that
-- were stored before have them empty; `longrein events backfill` writes such rows anew.
ALTER TABLE longrein.events
  ADD COLUMN IF NOT EXISTS error_class LowCardinality(String) AFTER error_code,
  ADD COLUMN IF NOT EXISTS finish_reason LowCardinality(String) AFTER error_class,
  ADD COLUMN IF NOT EXISTS attempt UInt16 CODEC(T64, ZSTD(1)) AFTER finish_reason,
  ADD COLUMN IF NOT EXISTS task_attempt UInt16 CODEC(T64, ZSTD(1)) AFTER attempt,
  ADD COLUMN IF NOT EXISTS step UInt32 CODEC(T64, ZSTD(1)) AFTER task_attempt,
  ADD COLUMN IF NOT EXISTS tool_version LowCardinality(String) AFTER step,
  ADD COLUMN IF NOT EXISTS isolation LowCardinality(String) AFTER tool_version,
  ADD COLUMN IF NOT EXISTS sandbox_id String CODEC(ZSTD(1)) AFTER isolation,
  ADD COLUMN IF NOT EXISTS requested_at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)) AFTER sandbox_id;

ALTER TABLE longrein.events MODIFY COMMENT
  'One row per event of every topic, in the order of the log; rows are never changed.';

ALTER TABLE longrein.events
  COMMENT COLUMN tenant_id 'whose session it is; empty for records of the log itself',
  COMMENT COLUMN session_id 'the session, one per goal',
  COMMENT COLUMN k_topic 'Kafka topic',
  COMMENT COLUMN k_partition 'Kafka partition',
  COMMENT COLUMN k_offset 'Kafka offset: the order of a session',
  COMMENT COLUMN event_index 'place of the event in its record, from 0',
  COMMENT COLUMN record_id 'id of the record, a hash over all of it',
  COMMENT COLUMN service 'who decided it, or wrote it',
  COMMENT COLUMN epoch 'number under which the host acted for the service',
  COMMENT COLUMN incarnation 'one start of one process',
  COMMENT COLUMN sequence 'number of the turn within the epoch',
  COMMENT COLUMN foreseen 'ids of turns of the same batch that the decision had seen',
  COMMENT COLUMN behaviour 'version of the deciding code',
  COMMENT COLUMN release 'release of the program that decided, or ran the call',
  COMMENT COLUMN type 'what happened: schemas/events has one file for each',
  COMMENT COLUMN schema_version 'version of that schema',
  COMMENT COLUMN at 'when, by the clock of the writer',
  COMMENT COLUMN principal 'who asked for the goal',
  COMMENT COLUMN labels 'labels of the goal, such as a cost centre',
  COMMENT COLUMN agent_id 'the running agent',
  COMMENT COLUMN agent_type 'name of the agent''s template',
  COMMENT COLUMN task_id 'the task within its session''s plan',
  COMMENT COLUMN call_id 'the model or tool call; idempotency key of the call',
  COMMENT COLUMN pool 'worker pool',
  COMMENT COLUMN provider 'model provider',
  COMMENT COLUMN model 'model, without its provider',
  COMMENT COLUMN tool 'name of the tool',
  COMMENT COLUMN status 'status that the event itself names',
  COMMENT COLUMN error_code 'code of the error, empty where there is none',
  COMMENT COLUMN error_class 'class of the error: decides whether it is tried again',
  COMMENT COLUMN finish_reason 'why the model stopped',
  COMMENT COLUMN attempt 'which try, from 1; 0 where there is none',
  COMMENT COLUMN task_attempt 'which try of its task a call belongs to',
  COMMENT COLUMN step 'step of the agent, from 1',
  COMMENT COLUMN tool_version 'version of the tool''s definition',
  COMMENT COLUMN isolation 'sandbox that the call ran in; empty: none',
  COMMENT COLUMN sandbox_id 'the sandbox that was lent',
  COMMENT COLUMN requested_at 'when the call was asked for; 1970 where that is not known',
  COMMENT COLUMN tokens_in 'input tokens, cached ones included',
  COMMENT COLUMN tokens_out 'output tokens, reasoning included',
  COMMENT COLUMN tokens_cache_read 'input tokens read from the provider''s cache',
  COMMENT COLUMN tokens_cache_write 'input tokens written to the provider''s cache',
  COMMENT COLUMN tokens_reasoning 'output tokens spent on reasoning',
  COMMENT COLUMN cost_nano_usd 'money spent by this event, in nano-USD',
  COMMENT COLUMN price_version 'price list that the cost was computed with',
  COMMENT COLUMN duration_us 'how long the call ran, in microseconds',
  COMMENT COLUMN trace_id 'OpenTelemetry trace',
  COMMENT COLUMN span_id 'OpenTelemetry span',
  COMMENT COLUMN ingested_at 'when the row was written';

-- More dimensions for the hourly rollup. They stand at the end of its key, so that rows of before
-- stay right: empty there.
ALTER TABLE longrein.costs_hourly
  ADD COLUMN IF NOT EXISTS labels String COMMENT 'labels of the goal as canonical JSON; labels_map has them as a map',
  ADD COLUMN IF NOT EXISTS release LowCardinality(String) COMMENT 'release of the program that ran the call',
  ADD COLUMN IF NOT EXISTS tool_version LowCardinality(String) COMMENT 'version of the tool''s definition',
  ADD COLUMN IF NOT EXISTS isolation LowCardinality(String) COMMENT 'sandbox that the calls ran in; empty: none',
  ADD COLUMN IF NOT EXISTS error_code LowCardinality(String) COMMENT 'code of the error; empty: none',
  ADD COLUMN IF NOT EXISTS error_class LowCardinality(String) COMMENT 'class of the error; empty: none',
  ADD COLUMN IF NOT EXISTS again UInt8 COMMENT '1 = second or later try of a call or of its task',
  MODIFY ORDER BY (
    tenant_id, hour, type, pool, agent_type, provider, model, tool,
    labels, release, tool_version, isolation, error_code, error_class, again
  );

ALTER TABLE longrein.costs_hourly
  ADD COLUMN IF NOT EXISTS cost_usd Decimal(38, 9)
    ALIAS CAST(cost_nano_usd AS Decimal(38, 9)) / 1000000000
    COMMENT 'money spent, in USD, exact',
  ADD COLUMN IF NOT EXISTS labels_map Map(String, String)
    ALIAS JSONExtract(labels, 'Map(String, String)')
    COMMENT 'labels of the goal',
  MODIFY COMMENT 'Calls and spending per hour. Rows of one key may still be apart: always sum them.',
  COMMENT COLUMN tenant_id 'whose calls',
  COMMENT COLUMN hour 'start of the hour, UTC',
  COMMENT COLUMN type 'how the calls ended: model.completed, tool.failed, …',
  COMMENT COLUMN pool 'worker pool',
  COMMENT COLUMN agent_type 'name of the agent''s template',
  COMMENT COLUMN provider 'model provider',
  COMMENT COLUMN model 'model',
  COMMENT COLUMN tool 'tool',
  COMMENT COLUMN calls 'tries that ended so',
  COMMENT COLUMN errors 'of them, those that failed, were denied or stayed unknown',
  COMMENT COLUMN tokens_in 'input tokens, cached ones included',
  COMMENT COLUMN tokens_out 'output tokens, reasoning included',
  COMMENT COLUMN tokens_cache_read 'input tokens read from the provider''s cache',
  COMMENT COLUMN tokens_cache_write 'input tokens written to the provider''s cache',
  COMMENT COLUMN tokens_reasoning 'output tokens spent on reasoning',
  COMMENT COLUMN cost_nano_usd 'money spent, in nano-USD',
  COMMENT COLUMN duration_us 'state of quantilesTDigest(0.5, 0.95, 0.99): read it with quantilesTDigestMerge',
  COMMENT COLUMN sessions 'state of uniq: read it with uniqMerge';

ALTER TABLE longrein.costs_hourly_mv MODIFY QUERY
SELECT
  e.tenant_id AS tenant_id,
  toStartOfHour(e.at) AS hour,
  e.type AS type,
  e.pool AS pool,
  e.agent_type AS agent_type,
  e.provider AS provider,
  e.model AS model,
  e.tool AS tool,
  if(empty(e.labels), '', toJSONString(mapSort(e.labels))) AS labels,
  e.release AS release,
  e.tool_version AS tool_version,
  e.isolation AS isolation,
  e.error_code AS error_code,
  e.error_class AS error_class,
  toUInt8(e.attempt > 1 OR e.task_attempt > 1) AS again,
  count() AS calls,
  countIf(NOT endsWith(e.type, '.completed')) AS errors,
  sum(toUInt64(e.tokens_in)) AS tokens_in,
  sum(toUInt64(e.tokens_out)) AS tokens_out,
  sum(toUInt64(e.tokens_cache_read)) AS tokens_cache_read,
  sum(toUInt64(e.tokens_cache_write)) AS tokens_cache_write,
  sum(toUInt64(e.tokens_reasoning)) AS tokens_reasoning,
  sum(e.cost_nano_usd) AS cost_nano_usd,
  quantilesTDigestState(0.5, 0.95, 0.99)(e.duration_us) AS duration_us,
  uniqState(e.session_id) AS sessions
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input')
  AND e.type IN (
    'model.completed', 'model.failed', 'model.attempt-failed', 'model.denied',
    'tool.completed', 'tool.failed', 'tool.denied', 'tool.unknown'
  )
GROUP BY
  e.tenant_id, toStartOfHour(e.at), e.type, e.pool, e.agent_type, e.provider, e.model, e.tool,
  if(empty(e.labels), '', toJSONString(mapSort(e.labels))), e.release, e.tool_version, e.isolation,
  e.error_code, e.error_class, toUInt8(e.attempt > 1 OR e.task_attempt > 1);
