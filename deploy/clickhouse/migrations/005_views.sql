-- One row per model call. Agent and task stand in the request, tokens and money in the answers (a
-- call that was tried again has several; its tokens and its money are their sums).
CREATE OR REPLACE VIEW longrein.model_calls AS
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  e.call_id AS call_id,
  max(e.task_id) AS task_id,
  max(e.agent_id) AS agent_id,
  max(toString(e.agent_type)) AS agent_type,
  max(toString(e.pool)) AS pool,
  argMaxIf(toString(e.provider), (e.k_offset, e.event_index), e.provider != '') AS provider,
  argMaxIf(toString(e.model), (e.k_offset, e.event_index), e.model != '') AS model,
  minOrNullIf(e.at, e.type = 'model.requested') AS requested_at,
  maxOrNullIf(e.at, e.type IN ('model.completed', 'model.failed', 'model.denied')) AS ended_at,
  splitByChar('.', argMax(toString(e.type), (e.k_offset, e.event_index)))[2] AS status,
  argMax(toString(e.error_code), (e.k_offset, e.event_index)) AS error_code,
  countIf(e.type IN ('model.completed', 'model.failed')) AS attempts,
  sum(toUInt64(e.tokens_in)) AS tokens_in,
  sum(toUInt64(e.tokens_out)) AS tokens_out,
  sum(toUInt64(e.tokens_cache_read)) AS tokens_cache_read,
  sum(toUInt64(e.tokens_cache_write)) AS tokens_cache_write,
  sum(toUInt64(e.tokens_reasoning)) AS tokens_reasoning,
  sum(e.cost_nano_usd) AS cost_nano_usd,
  sum(e.duration_us) AS duration_us
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.call_id != ''
  AND e.type IN
    ('model.requested', 'model.claimed', 'model.completed', 'model.failed', 'model.denied')
GROUP BY e.tenant_id, e.session_id, e.call_id;

-- One row per tool call, with what was decided about it and how it ended.
CREATE OR REPLACE VIEW longrein.tool_calls AS
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  e.call_id AS call_id,
  max(e.task_id) AS task_id,
  max(e.agent_id) AS agent_id,
  max(toString(e.agent_type)) AS agent_type,
  max(toString(e.pool)) AS pool,
  max(toString(e.tool)) AS tool,
  minOrNullIf(e.at, e.type = 'tool.requested') AS requested_at,
  minOrNullIf(e.at, e.type = 'tool.permitted') AS permitted_at,
  maxOrNullIf(
    e.at,
    e.type IN ('tool.completed', 'tool.failed', 'tool.denied', 'tool.unknown')
  ) AS ended_at,
  splitByChar('.', argMax(toString(e.type), (e.k_offset, e.event_index)))[2] AS status,
  argMax(toString(e.error_code), (e.k_offset, e.event_index)) AS error_code,
  countIf(e.type = 'tool.claimed') AS attempts,
  sum(e.cost_nano_usd) AS cost_nano_usd,
  sum(e.duration_us) AS duration_us
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.call_id != ''
  AND e.type IN (
    'tool.requested', 'tool.permitted', 'tool.denied', 'tool.claimed',
    'tool.completed', 'tool.failed', 'tool.unknown'
  )
GROUP BY e.tenant_id, e.session_id, e.call_id;

-- One row per task of a session's plan that was scheduled, skipped or settled.
CREATE OR REPLACE VIEW longrein.tasks AS
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  e.task_id AS task_id,
  max(toString(e.pool)) AS pool,
  max(toString(e.agent_type)) AS agent_type,
  minOrNullIf(e.at, e.type = 'task.scheduled') AS scheduled_at,
  maxOrNullIf(
    e.at,
    e.type IN
      ('task.completed', 'task.abandoned', 'task.skipped', 'task.cancelled')
  ) AS ended_at,
  splitByChar('.', argMax(toString(e.type), (e.k_offset, e.event_index)))[2] AS status,
  argMax(toString(e.error_code), (e.k_offset, e.event_index)) AS error_code,
  countIf(e.type = 'task.scheduled') AS attempts
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.task_id != ''
  AND startsWith(e.type, 'task.')
GROUP BY e.tenant_id, e.session_id, e.task_id;
