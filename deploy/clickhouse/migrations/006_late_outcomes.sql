-- Outcomes that came when nobody waited for them any more: the call was answered, denied or declared
-- lost, or its session had closed. They change nothing in the session, but what they cost was spent.
-- One row per outcome: a copy of one that did count is none, and copies of one another are one.
CREATE OR REPLACE VIEW longrein.late_outcomes AS
SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS session_id,
  e.call_id AS call_id,
  e.type AS type,
  e.at AS at,
  e.provider AS provider,
  e.model AS model,
  e.tool AS tool,
  e.error_code AS error_code,
  e.tokens_in AS tokens_in,
  e.tokens_out AS tokens_out,
  e.cost_nano_usd AS cost_nano_usd,
  e.price_version AS price_version,
  e.duration_us AS duration_us,
  e.record_id AS record_id
FROM longrein.events AS e
WHERE e.effective = 0 AND e.kind = 'input'
  AND e.type IN ('model.completed', 'model.failed', 'tool.completed', 'tool.failed')
  AND e.record_id NOT IN (
    SELECT counted.record_id
    FROM longrein.events AS counted
    WHERE counted.effective = 1 AND counted.kind = 'input'
      AND counted.type IN ('model.completed', 'model.failed', 'tool.completed', 'tool.failed')
      AND counted.record_id IN (
        SELECT late.record_id
        FROM longrein.events AS late
        WHERE late.effective = 0 AND late.kind = 'input'
          AND late.type IN ('model.completed', 'model.failed', 'tool.completed', 'tool.failed')
      )
  )
ORDER BY e.k_topic, e.k_partition, e.k_offset
LIMIT 1 BY e.tenant_id, e.session_id, e.record_id;
