-- A wide fan-out runs in child sessions. Each is a session of its own in every other view; this one
-- says whose children they are.
CREATE OR REPLACE VIEW longrein.child_sessions
(
  tenant_id String COMMENT 'whose session',
  parent_session_id String COMMENT 'session that opened it',
  task_id String COMMENT 'task of the parent whose branches it runs',
  session_id String COMMENT 'the child session',
  ordinal UInt32 COMMENT 'which child of the task, from 1',
  branches UInt32 COMMENT 'how many branches it runs',
  budget_nano_usd UInt64 COMMENT 'put aside for it out of the parent''s budget, in nano-USD; 0: no budget',
  opened_at DateTime64(3, 'UTC') COMMENT 'when the parent opened it',
  ended_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when its parent learned of its end; empty: not yet',
  status String COMMENT 'completed, failed or cancelled; running: not ended',
  cost_nano_usd UInt64 COMMENT 'money that it spent, in nano-USD; it stands in the rows of the child too'
)
AS SELECT
  e.tenant_id AS tenant_id,
  e.session_id AS parent_session_id,
  max(if(e.type = 'child.opened', e.task_id, '')) AS task_id,
  JSONExtractString(e.data, 'child') AS session_id,
  max(toUInt32(JSONExtractUInt(e.data, 'ordinal'))) AS ordinal,
  max(toUInt32(JSONExtractUInt(e.data, 'count'))) AS branches,
  max(JSONExtractUInt(e.data, 'budgetNanoUsd')) AS budget_nano_usd,
  minIf(e.at, e.type = 'child.opened') AS opened_at,
  minOrNullIf(e.at, e.type = 'child.ended') AS ended_at,
  if(countIf(e.type = 'child.ended') = 0, 'running',
    max(if(e.type = 'child.ended', toString(e.status), ''))) AS status,
  max(if(e.type = 'child.ended', JSONExtractUInt(e.data, 'costNanoUsd'), 0)) AS cost_nano_usd
FROM longrein.events AS e
WHERE e.effective = 1 AND e.kind IN ('turn', 'input')
  AND e.type IN ('child.opened', 'child.ended')
GROUP BY tenant_id, parent_session_id, session_id
COMMENT 'One row per child session, with the session that opened it.';
