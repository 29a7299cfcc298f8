-- What analysts read. Names and comments are kept: dashboards are built on them.
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
  budget_nano_usd UInt64 COMMENT 'most that it may spend; 0: no budget'
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
  max(s.budget_nano_usd) AS budget_nano_usd
FROM longrein.sessions_thin AS s
GROUP BY s.tenant_id, s.session_id
HAVING min(s.opened_at) IS NOT NULL
COMMENT 'One row per session, that is per goal.';

CREATE OR REPLACE VIEW longrein.tasks
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'the session',
  task_id String COMMENT 'the task within its session''s plan',
  pool String COMMENT 'worker pool',
  agent_type String COMMENT 'name of the agent''s template',
  labels Map(String, String) COMMENT 'labels of the goal',
  scheduled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was first scheduled',
  started_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its first agent started',
  ended_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was settled; empty: not yet',
  waited_ms Nullable(Int64) COMMENT 'from scheduled to started, in milliseconds',
  duration_ms Nullable(Int64) COMMENT 'from scheduled to settled, in milliseconds',
  status String COMMENT 'completed, abandoned, skipped, cancelled, timed-out, failed, running or scheduled',
  error_code String COMMENT 'error of a try that failed; empty: none did',
  attempts UInt16 COMMENT 'tries so far',
  calls UInt64 COMMENT 'model and tool calls that were answered',
  tokens UInt64 COMMENT 'input and output tokens',
  cost_nano_usd UInt64 COMMENT 'money spent, in nano-USD',
  cost_usd Decimal(38, 9) COMMENT 'money spent, in USD, exact'
)
AS SELECT
  t.tenant_id AS tenant_id,
  t.session_id AS session_id,
  t.task_id AS task_id,
  max(t.pool) AS pool,
  max(t.agent_type) AS agent_type,
  JSONExtract(max(t.labels), 'Map(String, String)') AS labels,
  min(t.scheduled_at) AS scheduled_at,
  min(t.started_at) AS started_at,
  coalesce(min(t.completed_at), min(t.abandoned_at), min(t.skipped_at), min(t.cancelled_at)) AS ended_at,
  dateDiff('millisecond', min(t.scheduled_at), min(t.started_at)) AS waited_ms,
  dateDiff('millisecond', min(t.scheduled_at),
    coalesce(min(t.completed_at), min(t.abandoned_at), min(t.skipped_at), min(t.cancelled_at)))
    AS duration_ms,
  multiIf(
    min(t.completed_at) IS NOT NULL, 'completed',
    min(t.abandoned_at) IS NOT NULL, 'abandoned',
    min(t.skipped_at) IS NOT NULL, 'skipped',
    min(t.cancelled_at) IS NOT NULL, 'cancelled',
    max(t.timed_out_at) IS NOT NULL, 'timed-out',
    max(t.failed_at) IS NOT NULL, 'failed',
    min(t.started_at) IS NOT NULL, 'running',
    'scheduled'
  ) AS status,
  max(t.error_code) AS error_code,
  max(t.attempts) AS attempts,
  sum(t.calls) AS calls,
  sum(t.tokens) AS tokens,
  sum(t.cost_nano_usd) AS cost_nano_usd,
  CAST(sum(t.cost_nano_usd) AS Decimal(38, 9)) / 1000000000 AS cost_usd
FROM longrein.tasks_thin AS t
GROUP BY t.tenant_id, t.session_id, t.task_id
COMMENT 'One row per task of a session''s plan that was scheduled, skipped or settled.';

CREATE OR REPLACE VIEW longrein.model_calls
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'the session',
  call_id String COMMENT 'the call',
  attempt UInt16 COMMENT 'which try of the call, from 1; 0: it was denied',
  task_id String COMMENT 'task that asked',
  task_attempt UInt16 COMMENT 'which try of the task, from 1',
  agent_id String COMMENT 'running agent that asked',
  agent_type String COMMENT 'name of the agent''s template',
  pool String COMMENT 'worker pool',
  step UInt32 COMMENT 'step of the agent, from 1',
  provider String COMMENT 'model provider',
  model String COMMENT 'model',
  requested_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was asked for',
  at DateTime64(3, 'UTC') COMMENT 'when it was answered',
  status String COMMENT 'completed, failed or denied',
  finish_reason String COMMENT 'why the model stopped',
  error_code String COMMENT 'code of the error; empty: none',
  error_class String COMMENT 'class of the error; empty: none',
  tokens_in UInt64 COMMENT 'input tokens, cached ones included: the size of the context',
  tokens_out UInt64 COMMENT 'output tokens, reasoning included',
  tokens_cache_read UInt64 COMMENT 'input tokens read from the provider''s cache',
  tokens_cache_write UInt64 COMMENT 'input tokens written to the provider''s cache',
  tokens_reasoning UInt64 COMMENT 'output tokens spent on reasoning',
  cost_nano_usd UInt64 COMMENT 'money spent, in nano-USD',
  cost_usd Decimal(38, 9) COMMENT 'money spent, in USD, exact',
  price_version String COMMENT 'price list that the cost was computed with',
  duration_ms Float64 COMMENT 'how long the try ran, in milliseconds',
  principal String COMMENT 'who asked for the goal',
  labels Map(String, String) COMMENT 'labels of the goal',
  release String COMMENT 'release of the program that made the call',
  trace_id String COMMENT 'OpenTelemetry trace'
)
AS SELECT
  tenant_id, session_id, call_id, attempt, task_id, task_attempt, agent_id, agent_type, pool, step,
  provider, model, if(requested_at = 0, NULL, requested_at) AS requested_at, at,
  replaceOne(splitByChar('.', toString(type))[2], 'attempt-failed', 'failed') AS status, finish_reason, error_code, error_class,
  tokens_in, tokens_out, tokens_cache_read, tokens_cache_write, tokens_reasoning, cost_nano_usd,
  CAST(cost_nano_usd AS Decimal(38, 9)) / 1000000000 AS cost_usd, price_version,
  duration_us / 1000 AS duration_ms, principal, labels, release, trace_id
FROM longrein.calls_thin
WHERE late = 0 AND type IN ('model.completed', 'model.failed', 'model.attempt-failed', 'model.denied')
COMMENT 'One row per try of a model call that was answered, failed or denied.';

CREATE OR REPLACE VIEW longrein.tool_calls
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'the session',
  call_id String COMMENT 'the call',
  attempt UInt16 COMMENT 'which try of the call, from 1; 0: it was denied',
  task_id String COMMENT 'task that asked',
  task_attempt UInt16 COMMENT 'which try of the task, from 1',
  agent_id String COMMENT 'running agent that asked',
  agent_type String COMMENT 'name of the agent''s template',
  pool String COMMENT 'worker pool',
  step UInt32 COMMENT 'step of the agent, from 1',
  tool String COMMENT 'name of the tool',
  tool_version String COMMENT 'version of the tool''s definition',
  isolation String COMMENT 'sandbox that it ran in; empty: none',
  requested_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was asked for',
  at DateTime64(3, 'UTC') COMMENT 'when it was answered, denied or declared unknown',
  status String COMMENT 'completed, failed, denied or unknown (nobody saw how it ended)',
  error_code String COMMENT 'code of the error; empty: none',
  error_class String COMMENT 'class of the error; empty: none',
  cost_nano_usd UInt64 COMMENT 'money spent, in nano-USD',
  cost_usd Decimal(38, 9) COMMENT 'money spent, in USD, exact',
  duration_ms Float64 COMMENT 'how long the try ran, in milliseconds',
  principal String COMMENT 'who asked for the goal',
  labels Map(String, String) COMMENT 'labels of the goal',
  release String COMMENT 'release of the program that made the call',
  trace_id String COMMENT 'OpenTelemetry trace'
)
AS SELECT
  tenant_id, session_id, call_id, attempt, task_id, task_attempt, agent_id, agent_type, pool, step,
  tool, tool_version, isolation, if(requested_at = 0, NULL, requested_at) AS requested_at, at,
  splitByChar('.', toString(type))[2] AS status, error_code, error_class, cost_nano_usd,
  CAST(cost_nano_usd AS Decimal(38, 9)) / 1000000000 AS cost_usd,
  duration_us / 1000 AS duration_ms, principal, labels, release, trace_id
FROM longrein.calls_thin
WHERE late = 0 AND type IN ('tool.completed', 'tool.failed', 'tool.denied', 'tool.unknown')
COMMENT 'One row per try of a tool call that ended, with what was decided about it.';

CREATE OR REPLACE VIEW longrein.sandbox_runs
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'the session',
  sandbox_id String COMMENT 'the sandbox that was lent',
  call_id String COMMENT 'the tool call that ran in it',
  attempt UInt16 COMMENT 'which try of the call, from 1',
  isolation String COMMENT 'kind of isolation that it had',
  tool String COMMENT 'name of the tool',
  tool_version String COMMENT 'version of the tool''s definition',
  task_id String COMMENT 'task that asked',
  agent_type String COMMENT 'name of the agent''s template',
  pool String COMMENT 'worker pool',
  at DateTime64(3, 'UTC') COMMENT 'when the run ended',
  status String COMMENT 'completed, failed or unknown',
  error_code String COMMENT 'code of the error; empty: none',
  duration_ms Float64 COMMENT 'how long it ran, in milliseconds',
  labels Map(String, String) COMMENT 'labels of the goal'
)
AS SELECT
  tenant_id, session_id, sandbox_id, call_id, attempt, isolation, tool, tool_version, task_id,
  agent_type, pool, at, splitByChar('.', toString(type))[2] AS status, error_code,
  duration_us / 1000 AS duration_ms, labels
FROM longrein.calls_thin
WHERE late = 0 AND (isolation != '' OR sandbox_id != '')
COMMENT 'One row per run in a sandbox.';

CREATE OR REPLACE VIEW longrein.agent_steps
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'the session',
  task_id String COMMENT 'the task',
  task_attempt UInt16 COMMENT 'which try of the task, from 1',
  agent_id String COMMENT 'the running agent',
  agent_type String COMMENT 'name of the agent''s template',
  pool String COMMENT 'worker pool',
  step UInt32 COMMENT 'number of the step, from 1',
  started_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its first call was asked for',
  ended_at DateTime64(3, 'UTC') COMMENT 'when its last call was answered',
  duration_ms Nullable(Int64) COMMENT 'from started to ended, in milliseconds',
  model_calls UInt64 COMMENT 'tries of model calls in it',
  tool_calls UInt64 COMMENT 'tries of tool calls in it',
  sandbox_runs UInt64 COMMENT 'of those, run in a sandbox',
  failed_calls UInt64 COMMENT 'tries that did not complete',
  tokens_in UInt64 COMMENT 'input tokens',
  tokens_out UInt64 COMMENT 'output tokens',
  cost_nano_usd UInt64 COMMENT 'money spent, in nano-USD',
  cost_usd Decimal(38, 9) COMMENT 'money spent, in USD, exact'
)
AS SELECT
  c.tenant_id AS tenant_id,
  c.session_id AS session_id,
  max(c.task_id) AS task_id,
  max(c.task_attempt) AS task_attempt,
  c.agent_id AS agent_id,
  max(toString(c.agent_type)) AS agent_type,
  max(toString(c.pool)) AS pool,
  c.step AS step,
  minOrNullIf(c.requested_at, c.requested_at > 0) AS started_at,
  max(c.at) AS ended_at,
  dateDiff('millisecond', minOrNullIf(c.requested_at, c.requested_at > 0), max(c.at)) AS duration_ms,
  countIf(startsWith(c.type, 'model.')) AS model_calls,
  countIf(startsWith(c.type, 'tool.')) AS tool_calls,
  countIf(c.isolation != '') AS sandbox_runs,
  countIf(NOT endsWith(c.type, '.completed')) AS failed_calls,
  sum(toUInt64(c.tokens_in)) AS tokens_in,
  sum(toUInt64(c.tokens_out)) AS tokens_out,
  sum(c.cost_nano_usd) AS cost_nano_usd,
  CAST(sum(c.cost_nano_usd) AS Decimal(38, 9)) / 1000000000 AS cost_usd
FROM longrein.calls_thin AS c
WHERE c.late = 0 AND c.agent_id != ''
GROUP BY c.tenant_id, c.session_id, c.agent_id, c.step
COMMENT 'One row per step of a running agent: what it asked models and tools for.';

CREATE OR REPLACE VIEW longrein.pool_load
(
  tenant_id String COMMENT 'whose tasks',
  pool String COMMENT 'worker pool',
  hour DateTime('UTC') COMMENT 'hour in which the tasks were scheduled, UTC',
  tasks UInt64 COMMENT 'tasks scheduled',
  completed UInt64 COMMENT 'of them, completed',
  abandoned UInt64 COMMENT 'of them, given up',
  unsettled UInt64 COMMENT 'of them, not settled yet',
  retries UInt64 COMMENT 'tries beyond the first',
  waited_ms_p50 Nullable(Float64) COMMENT 'median of the wait for a worker, in milliseconds',
  waited_ms_p95 Nullable(Float64) COMMENT '95th percentile of the wait for a worker, in milliseconds',
  busy_ms Nullable(Int64) COMMENT 'sum of the time from started to settled, in milliseconds',
  cost_usd Decimal(38, 9) COMMENT 'money spent by the tasks, in USD, exact'
)
AS SELECT
  tenant_id,
  pool,
  toStartOfHour(scheduled_at) AS hour,
  count() AS tasks,
  countIf(status = 'completed') AS completed,
  countIf(status = 'abandoned') AS abandoned,
  countIf(ended_at IS NULL) AS unsettled,
  sum(greatest(toInt64(attempts) - 1, 0)) AS retries,
  quantileOrNull(0.5)(waited_ms) AS waited_ms_p50,
  quantileOrNull(0.95)(waited_ms) AS waited_ms_p95,
  sum(dateDiff('millisecond', started_at, ended_at)) AS busy_ms,
  sum(cost_usd) AS cost_usd
FROM longrein.tasks
WHERE scheduled_at IS NOT NULL
GROUP BY tenant_id, pool, hour
COMMENT 'Tasks per pool and hour: how many came, how long they waited, how long they took.';

CREATE OR REPLACE VIEW longrein.late_outcomes
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'the session',
  call_id String COMMENT 'the call',
  type String COMMENT 'how it ended',
  at DateTime64(3, 'UTC') COMMENT 'when the answer came',
  agent_type String COMMENT 'name of the agent''s template; empty where its session had closed',
  provider String COMMENT 'model provider',
  model String COMMENT 'model',
  tool String COMMENT 'tool',
  error_code String COMMENT 'code of the error; empty: none',
  tokens_in UInt64 COMMENT 'input tokens',
  tokens_out UInt64 COMMENT 'output tokens',
  cost_nano_usd UInt64 COMMENT 'money spent for nothing, in nano-USD',
  cost_usd Decimal(38, 9) COMMENT 'the same in USD, exact',
  price_version String COMMENT 'price list that the cost was computed with',
  duration_us UInt64 COMMENT 'how long the call ran, in microseconds',
  labels Map(String, String) COMMENT 'labels of the goal',
  record_id String COMMENT 'id of the record'
)
AS SELECT
  c.tenant_id AS tenant_id, c.session_id AS session_id, c.call_id AS call_id, c.type AS type,
  c.at AS at, c.agent_type AS agent_type, c.provider AS provider, c.model AS model, c.tool AS tool,
  c.error_code AS error_code, c.tokens_in AS tokens_in, c.tokens_out AS tokens_out,
  c.cost_nano_usd AS cost_nano_usd,
  CAST(c.cost_nano_usd AS Decimal(38, 9)) / 1000000000 AS cost_usd,
  c.price_version AS price_version, c.duration_us AS duration_us, c.labels AS labels,
  c.record_id AS record_id
FROM longrein.calls_thin AS c
WHERE c.late = 1
  AND c.record_id NOT IN (
    SELECT counted.record_id FROM longrein.calls_thin AS counted
    WHERE counted.late = 0 AND counted.record_id IN (
      SELECT l.record_id FROM longrein.calls_thin AS l WHERE l.late = 1))
ORDER BY c.at, c.k_offset
LIMIT 1 BY c.tenant_id, c.session_id, c.record_id
COMMENT 'Answers that came when nobody waited for them any more. They change nothing, but were paid for.';
